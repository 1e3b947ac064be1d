package lakesieve.spark;

import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.execution.datasources.parquet.ParquetUtils;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.collection.Iterator;

/** A Parquet format in front of another one, which makes the functions that read files. */
abstract class WrappedParquetFormat extends ParquetFileFormat {
  private static final long serialVersionUID = 1;

  /** The format behind this one. */
  protected final ParquetFileFormat behind;

  /** Create a format in front of another one. */
  protected WrappedParquetFormat(ParquetFileFormat behind) {
    this.behind = behind;
  }

  /** Make functions of the format behind this one that read files. */
  protected interface Readers {
    /**
     * Make a function.
     *
     * @param filters whether Parquet gets the query's filters
     */
    Function1<PartitionedFile, Iterator<InternalRow>> make(
        boolean filters, Configuration configuration);
  }

  /**
   * Return the function that reads files.
   *
   * @param isVectorized whether Spark decodes columns, and not row by row
   */
  protected abstract Function1<PartitionedFile, Iterator<InternalRow>> reader(
      SparkSession spark, Configuration configuration, boolean isVectorized, Readers readers);

  /** Return whether Spark decodes some columns of files as columns, and not row by row. */
  static boolean isVectorized(SparkSession spark, StructType required, StructType partition) {
    SQLConf settings = ClassicSessions.state(spark).conf();
    return ParquetUtils.isBatchReadSupportedForSchema(settings, required)
        && ParquetUtils.isBatchReadSupportedForSchema(settings, partition);
  }
}
