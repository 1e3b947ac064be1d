package lakesieve.spark;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.Option;
import scala.collection.Iterator;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;

/**
 * The methods of a format in front of another one whose types contain a {@code Seq}, and those that
 * are new in Spark 4.
 */
public abstract class ParquetFormatInFront extends WrappedParquetFormat {
  private static final long serialVersionUID = 1;

  /** Create a format in front of another one. */
  protected ParquetFormatInFront(ParquetFileFormat behind) {
    super(behind);
  }

  @Override
  public Function1<PartitionedFile, Iterator<InternalRow>> buildReaderWithPartitionValues(
      SparkSession spark,
      StructType data,
      StructType partition,
      StructType required,
      Seq<Filter> filters,
      Map<String, String> options,
      Configuration configuration) {
    Seq<Filter> none = Scala.seq(java.util.List.of());
    return reader(
        spark,
        configuration,
        (pushed, given) ->
            behind.buildReaderWithPartitionValues(
                spark, data, partition, required, pushed ? filters : none, options, given));
  }

  @Override
  public Option<Seq<String>> vectorTypes(
      StructType required, StructType partition, SQLConf configuration) {
    return behind.vectorTypes(required, partition, configuration);
  }

  @Override
  public Seq<StructField> metadataSchemaFields() {
    return behind.metadataSchemaFields();
  }

  @Override
  public boolean allowDuplicatedColumnNames() {
    return behind.allowDuplicatedColumnNames();
  }

  @Override
  public Option<StructType> inferSchema(
      SparkSession spark, Map<String, String> options, Seq<FileStatus> files) {
    return behind.inferSchema(spark, options, files);
  }
}
