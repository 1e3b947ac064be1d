package lakesieve.rows;

import java.io.IOException;
import java.io.Serializable;
import java.util.List;
import lakesieve.files.FileRows;
import lakesieve.spark.Scala;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.HadoopReadOptions;
import org.apache.parquet.format.converter.ParquetMetadataConverter;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.FileMetaData;
import org.apache.parquet.hadoop.metadata.ParquetMetadata;
import org.apache.parquet.hadoop.util.HadoopInputFile;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.paths.SparkPath;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.FileFormat$;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.collection.immutable.Map;
import scala.collection.immutable.Map$;

/**
 * Reads some rows of data files with Spark's Parquet reader, for a table format that has another
 * reader of its own. Columns are found by their field ids.
 */
public final class ParquetReads implements Serializable {
  private static final long serialVersionUID = 1;

  /** The column that Spark's reader fills with the position of each row in its file. */
  public static final String POSITION = "_tmp_metadata_row_index";

  private static final String OF_PARQUET = "parquet.";
  private static final String BY_FIELD_ID = "spark.sql.parquet.fieldId.read.enabled";
  // dates and timestamps are returned as they are in the file
  private static final String REBASE = "datetimeRebaseMode";
  private static final String REBASE_INT96 = "int96RebaseMode";
  private static final String AS_IS = "CORRECTED";

  private final RestrictedReader reader;
  private final Broadcast<FileRows> rows;

  private ParquetReads(RestrictedReader reader, Broadcast<FileRows> rows) {
    this.reader = reader;
    this.rows = rows;
  }

  /** Return why Spark's reader cannot read these columns in batches, or null. */
  public static String problem(SparkSession spark, StructType columns) {
    if (RowPredicate.installed() == null) return RowPredicate.problem();
    boolean reads = new ParquetFileFormat().supportBatch(spark, columns);
    return reads ? null : "Spark's vectorized Parquet reader is off, or there are too many columns";
  }

  /**
   * Create the reads of a scan.
   *
   * @param columns with their field ids as metadata, see {@code parquet.field.id}
   * @param files the configuration by which the files are opened
   * @return null where the installed Parquet reads whole files only
   */
  public static ParquetReads of(
      SparkSession spark, StructType columns, FileRows rows, Configuration files) {
    Configuration conf = new Configuration(files);
    Configuration hadoop = spark.sparkContext().hadoopConfiguration();
    hadoop
        .getPropsWithPrefix(OF_PARQUET)
        .forEach((name, value) -> conf.set(OF_PARQUET + name, value));
    SQLConf.get().getAllConfs().foreach(setting -> set(conf, setting));
    conf.setBoolean(BY_FIELD_ID, true);
    String returned = FileFormat$.MODULE$.OPTION_RETURNING_BATCH();
    Map<String, String> options =
        new Map.Map3<>(returned, "true", REBASE, AS_IS, REBASE_INT96, AS_IS);
    var reader =
        RestrictedReader.of(
            conf,
            rows,
            given ->
                new ParquetFileFormat()
                    .buildReaderWithPartitionValues(
                        spark,
                        columns,
                        new StructType(),
                        columns,
                        Scala.seq(List.of()),
                        options,
                        given));
    if (reader == null) return null;
    var context = JavaSparkContext.fromSparkContext(spark.sparkContext());
    return new ParquetReads(reader, context.broadcast(rows));
  }

  /** Set what Spark's reader is to know. It opens files in no other way. */
  private static Object set(Configuration conf, Tuple2<String, String> setting) {
    String name = setting._1();
    if (name.startsWith("spark.") || name.startsWith(OF_PARQUET)) conf.set(name, setting._2());
    return null;
  }

  /** Return true for a file of which only some rows are read. */
  public boolean isRestricted(String location, long size) {
    return ranges(location, size) != null;
  }

  /** Return what the footer of a file says of its columns. */
  public static FileMetaData footer(String location, Configuration configuration)
      throws IOException {
    return metadata(location, configuration, ParquetMetadataConverter.SKIP_ROW_GROUPS)
        .getFileMetaData();
  }

  /** Return what the footer of a file says of its row groups, in their order. */
  public static List<BlockMetaData> rowGroups(String location, Configuration configuration)
      throws IOException {
    return metadata(location, configuration, ParquetMetadataConverter.NO_FILTER).getBlocks();
  }

  private static ParquetMetadata metadata(
      String location, Configuration configuration, ParquetMetadataConverter.MetadataFilter part)
      throws IOException {
    var options = HadoopReadOptions.builder(configuration).withMetadataFilter(part).build();
    var file = HadoopInputFile.fromPath(new Path(location), configuration);
    try (ParquetFileReader reader = ParquetFileReader.open(file, options)) {
      return reader.getFooter();
    }
  }

  /**
   * Open a split of a file, and return its batches.
   *
   * @param size of the file, in bytes
   * @return null where all rows must be read, by another reader
   */
  // Spark's reader declares rows, and returns batches
  @SuppressWarnings("unchecked")
  public Iterator<ColumnarBatch> open(String location, long start, long length, long size) {
    Iterator<?> batches =
        reader.open(
            new PartitionedFile(
                InternalRow.empty(),
                SparkPath.fromPath(new Path(location)),
                start,
                length,
                new String[0],
                0,
                size,
                Map$.MODULE$.empty()),
            ranges(location, size));
    return (Iterator<ColumnarBatch>) batches;
  }

  private long[] ranges(String location, long size) {
    return rows.value().ranges(new Path(location).toString(), size, 0);
  }
}
