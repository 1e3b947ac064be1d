package lakesieve.rows;

import lakesieve.files.FileRows;
import lakesieve.spark.ParquetFormatInFront;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.Job;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.execution.datasources.OutputWriterFactory;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.collection.Iterator;
import scala.collection.immutable.Map;

/**
 * A Parquet-based format that reads only some rows of data files. The format behind it does
 * everything else, with Spark's own reader.
 *
 * <p>It is in physical plans only, so rules of the optimizer see the format that they know.
 */
public final class RowRangeFormat extends ParquetFormatInFront {
  private static final long serialVersionUID = 1;

  private final transient FileRows rows;

  /**
   * Create the format.
   *
   * @param rows the rows to read
   */
  public RowRangeFormat(ParquetFileFormat behind, FileRows rows) {
    super(behind);
    this.rows = rows;
  }

  @Override
  protected Function1<PartitionedFile, Iterator<InternalRow>> reader(
      SparkSession spark, Configuration configuration, Readers readers) {
    Configuration copy = new Configuration(configuration);
    Function1<PartitionedFile, Iterator<InternalRow>> whole = readers.make(true, configuration);
    var restricted = RestrictedReader.of(copy, rows, given -> readers.make(false, given));
    if (restricted == null) return whole;
    var context = JavaSparkContext.fromSparkContext(spark.sparkContext());
    return new RowRangeReader(whole, restricted, context.broadcast(rows));
  }

  @Override
  public boolean isSplitable(SparkSession spark, Map<String, String> options, Path path) {
    if (!behind.isSplitable(spark, options, path)) return false;
    return rows.needSplits(path.toString());
  }

  @Override
  public boolean supportBatch(SparkSession spark, StructType schema) {
    return behind.supportBatch(spark, schema);
  }

  @Override
  public boolean supportDataType(DataType type) {
    return behind.supportDataType(type);
  }

  @Override
  public boolean supportFieldName(String name) {
    return behind.supportFieldName(name);
  }

  @Override
  public AttributeReference createFileMetadataCol() {
    return behind.createFileMetadataCol();
  }

  @Override
  public Map<String, Function1<PartitionedFile, Object>> fileConstantMetadataExtractors() {
    return behind.fileConstantMetadataExtractors();
  }

  @Override
  public OutputWriterFactory prepareWrite(
      SparkSession spark, Job job, Map<String, String> options, StructType schema) {
    return behind.prepareWrite(spark, job, options, schema);
  }

  @Override
  public String shortName() {
    return behind.shortName();
  }

  @Override
  public String toString() {
    return behind.toString();
  }

  /** Return true for a format that reads the same rows in the same way. */
  @Override
  public boolean equals(Object other) {
    return other instanceof RowRangeFormat that
        && behind.equals(that.behind)
        && rows.equals(that.rows);
  }

  @Override
  public int hashCode() {
    return 31 * behind.hashCode() + rows.hashCode();
  }
}
