package lakesieve;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.UUID;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.RuntimeConfig;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import ${sql}.Dataset;
import org.apache.spark.sql.execution.datasources.CatalogFileIndex;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.NoopCache$;
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex;

/** Relations over files, as Spark's file sources make them: their files and their location. */
public final class FileScans {
  private static final String PARQUET =
      "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat";

  /** Files in one part of a listing for Python: the paths of a table are never one text. */
  public static final int LINES = 10000;

  private static final ObjectMapper JSON = new ObjectMapper();

  private FileScans() {}

  /** The relation of a leaf that reads files in batch, or null. */
  public static HadoopFsRelation relation(LogicalPlan leaf) {
    if (!(leaf instanceof LogicalRelation) || leaf.isStreaming()) return null;
    Object relation = ((LogicalRelation) leaf).relation();
    return relation instanceof HadoopFsRelation ? (HadoopFsRelation) relation : null;
  }

  /** The only leaf of a plan if it reads a directory of Parquet files, or null. */
  public static LogicalPlan parquetLeaf(LogicalPlan plan) {
    scala.collection.Seq leaves = plan.collectLeaves();
    if (leaves.size() != 1) return null;
    LogicalPlan leaf = (LogicalPlan) leaves.apply(0);
    return isParquet(leaf) ? leaf : null;
  }

  /** The rows of a leaf alone: a catalog table may have more above it, such as padding of CHAR. */
  public static Dataset rows(SparkSession spark, LogicalPlan leaf) {
    return Dataset.ofRows((${sql}.SparkSession) spark, leaf);
  }

  /** True for a leaf that reads Parquet files listed by Spark itself. */
  public static boolean isParquet(LogicalPlan leaf) {
    HadoopFsRelation relation = relation(leaf);
    if (relation == null || !relation.fileFormat().getClass().getName().equals(PARQUET)) return false;
    return relation.location() instanceof InMemoryFileIndex
        || relation.location() instanceof CatalogFileIndex;
  }

  /** A catalog table's name. */
  public static String name(Object table) {
    return ((CatalogTable) table).identifier().unquotedString();
  }

  /** The directory that is read, or null when there are several. */
  public static String location(LogicalPlan leaf) {
    scala.Option table = ((LogicalRelation) leaf).catalogTable();
    if (table.isDefined()) return new Path(((CatalogTable) table.get()).location()).toString();
    FileIndex index = relation(leaf).location();
    return index.rootPaths().size() == 1 ? index.rootPaths().apply(0).toString() : null;
  }

  /** Identity of a directory: there is none but its location. */
  public static String uuid(String location) {
    return digest(FilePaths.root(location));
  }

  /** A text as a UUID of version 3. */
  public static String digest(String text) {
    return UUID.nameUUIDFromBytes(text.getBytes(StandardCharsets.UTF_8)).toString();
  }

  /** Identity of a file that may be rewritten in place. */
  public static String identity(FileStatus file) {
    return file.getPath().toString() + "#" + file.getLen() + "@" + file.getModificationTime();
  }

  /** How a relation over files is read: its schema, and the settings that change what is read. */
  public static String schema(LogicalPlan leaf) throws Exception {
    HadoopFsRelation relation = relation(leaf);
    return document(
        relation.sparkSession(),
        relation.schema().json(),
        relation.partitionSchema().fieldNames(),
        new LinkedHashMap<>());
  }

  /** The same as one JSON document, with the entries that a format adds. */
  public static String document(
      SparkSession spark, String schema, String[] partitioning, Map<String, Object> more)
      throws Exception {
    Map<String, Object> m = new LinkedHashMap<>(more);
    RuntimeConfig conf = spark.conf();
    boolean shifted = "true".equals(conf.get("spark.sql.parquet.int96TimestampConversion"));
    m.put("case", conf.get("spark.sql.caseSensitive"));
    String modes =
        conf.get("spark.sql.parquet.datetimeRebaseModeInRead")
            + " "
            + conf.get("spark.sql.parquet.int96RebaseModeInRead");
    // the default of Spark 3.5 fails where that of 4.1 reads another value, and is the same elsewhere
    m.put(
        "times",
        modes.replace("EXCEPTION", "CORRECTED")
            + (shifted ? " " + conf.get("spark.sql.session.timeZone") : ""));
    m.put("partitioning", Arrays.asList(partitioning));
    m.put("schema", JSON.readValue(schema, Map.class));
    return JSON.writeValueAsString(m);
  }

  /** All files of an index, before partition pruning, as it listed them. */
  public static scala.collection.Iterator files(FileIndex index) {
    return whole(index).allFiles().iterator();
  }

  /** Identities of the files of a relation as they are now, whenever it listed them itself. */
  public static PathSet currentIdentities(HadoopFsRelation relation) {
    PartitioningAwareFileIndex listed = whole(relation.location());
    InMemoryFileIndex current =
        new InMemoryFileIndex(
            relation.sparkSession(),
            listed.rootPaths(),
            relation.options(),
            scala.Option.empty(),
            NoopCache$.MODULE$,
            scala.Option.apply(listed.partitionSpec()),
            scala.Option.empty());
    PathSet identities = new PathSet();
    scala.collection.Iterator it = current.allFiles().iterator();
    while (it.hasNext()) identities.add(identity((FileStatus) it.next()));
    return identities;
  }

  private static PartitioningAwareFileIndex whole(FileIndex index) {
    if (index instanceof CatalogFileIndex) {
      index = ((CatalogFileIndex) index).filterPartitions(scala.collection.immutable.Nil$.MODULE$);
    }
    return (PartitioningAwareFileIndex) index;
  }

  /** All files of a Parquet leaf, for {@link #identities}. */
  public static scala.collection.Iterator listed(LogicalPlan leaf) {
    return files(relation(leaf).location());
  }

  /** Identities of the next files, one a line; nothing behind the last. */
  public static String identities(scala.collection.Iterator files) {
    StringBuilder lines = new StringBuilder();
    for (int i = 0; i < LINES && files.hasNext(); i++) {
      append(lines, identity((FileStatus) files.next()));
    }
    return lines.toString();
  }

  /** Append a path as another line. */
  public static void append(StringBuilder lines, String path) {
    if (path.indexOf('\n') >= 0) throw new IllegalArgumentException("line break in " + path);
    if (lines.length() > 0) lines.append('\n');
    lines.append(path);
  }
}
