package lakesieve.spark;

import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
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

  /** Return the function that reads files. */
  protected abstract Function1<PartitionedFile, Iterator<InternalRow>> reader(
      SparkSession spark, Configuration configuration, Readers readers);
}
