package lakesieve.hudi;

import java.util.ArrayList;
import java.util.Date;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import lakesieve.folders.FileScans;
import lakesieve.folders.SchemaDocument;
import lakesieve.rows.ParquetReads;
import lakesieve.rows.RowRangeStrategy;
import lakesieve.spark.ClassicSessions;
import lakesieve.spark.PrivateMembers;
import lakesieve.spark.Scala;
import org.apache.hudi.BaseHoodieTableFileIndex;
import org.apache.hudi.BaseHoodieTableFileIndex.PartitionPath;
import org.apache.hudi.HoodieFileIndex;
import org.apache.hudi.HoodieTableSchema;
import org.apache.hudi.common.model.FileSlice;
import org.apache.hudi.common.model.HoodieBaseFile;
import org.apache.hudi.common.model.HoodieLogFile;
import org.apache.hudi.common.table.HoodieTableConfig;
import org.apache.hudi.common.table.timeline.HoodieInstantTimeGenerator;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation$;
import org.apache.spark.sql.hudi.HoodieSqlCommonUtils;
import org.apache.spark.sql.types.DataTypes;

/**
 * The schema and the file slices of a read of a Hudi table.
 *
 * <p>If a slice has no log files up to the instant that is read, its rows are those of its base
 * file, which never changes. All other slices are always read.
 */
public final class HudiFiles {
  /** The class of the format that reads file groups. */
  static final String FILE_FORMAT = RowRangeStrategy.HUDI;

  /** Private method of BaseHoodieTableFileIndex. */
  static final String ALL_SLICES = "getAllInputFileSlices";

  /** Private field of the format. */
  static final String TABLE_SCHEMA = "tableSchema";

  // the table version from which a log file has the time of its own commit
  private static final int LOGS_NAMED_BY_COMMIT = 8;

  private HudiFiles() {}

  /** The file index of a leaf that reads a version of a Hudi table, or null. */
  public static HoodieFileIndex index(LogicalPlan leaf) {
    HadoopFsRelation relation = FileScans.relation(leaf);
    if (relation == null || !relation.fileFormat().getClass().getName().equals(FILE_FORMAT)) {
      return null;
    }
    FileIndex index = relation.location();
    // subclasses are for incremental and change data queries
    return index.getClass() == HoodieFileIndex.class ? (HoodieFileIndex) index : null;
  }

  /** The only leaf of a plan if it reads a version of a Hudi table, or null. */
  public static LogicalPlan leaf(LogicalPlan plan) {
    List<LogicalPlan> leaves = Scala.list(plan.collectLeaves());
    return leaves.size() == 1 && index(leaves.get(0)) != null ? leaves.get(0) : null;
  }

  /** The base path of the table. */
  public static String location(LogicalPlan leaf) {
    return index(leaf).metaClient().getBasePath().toString();
  }

  /** A point in time as Hudi writes it in commit times, in the time zone of the table. */
  public static String moment(long millis) {
    return HoodieInstantTimeGenerator.formatDateBasedOnTimeZone(new Date(millis));
  }

  /** How a leaf is read: its schema, and the features that a reader of the table must support. */
  public static String schema(LogicalPlan leaf) throws Exception {
    HadoopFsRelation relation = FileScans.relation(leaf);
    HoodieTableConfig config = config(leaf);
    String baseFormat = config.getBaseFileFormat().name();
    List<String> features = new ArrayList<>();
    if (config.isMultipleBaseFileFormatsEnabled()) features.add("several base file formats");
    if (!baseFormat.equals("PARQUET")) features.add("base files of the format " + baseFormat);
    if (evolves(relation.fileFormat())) features.add("schema evolution on read");
    Map<String, Object> more = new LinkedHashMap<>();
    more.put("version", version(index(leaf)));
    more.put("features", features);
    return SchemaDocument.of(
        relation.sparkSession(),
        relation.schema().json(),
        relation.partitionSchema().fieldNames(),
        more);
  }

  /** The rows that a leaf reads. The last column is the position of each row in its base file. */
  public static Dataset<Row> positions(LogicalPlan leaf) {
    HadoopFsRelation old = FileScans.relation(leaf);
    HadoopFsRelation relation =
        new HadoopFsRelation(
            old.location(),
            old.partitionSchema(),
            old.dataSchema().add(ParquetReads.POSITION, DataTypes.LongType),
            old.bucketSpec(),
            old.fileFormat(),
            old.options(),
            old.sparkSession());
    return ClassicSessions.rows(
        old.sparkSession(), LogicalRelation$.MODULE$.apply(relation, false));
  }

  /** The file slices of the version that the index reads, by partition. */
  @SuppressWarnings("unchecked") // the type that the private method declares
  public static Map<PartitionPath, List<FileSlice>> slices(HoodieFileIndex index) throws Exception {
    return (Map<PartitionPath, List<FileSlice>>)
        PrivateMembers.call(index, BaseHoodieTableFileIndex.class, ALL_SLICES, new Class<?>[0]);
  }

  /** Path of the base file that has exactly the rows of the slice, or null if there is none. */
  public static String identity(HoodieFileIndex index, FileSlice slice) {
    if (!slice.getBaseFile().isPresent() || merges(index, slice)) return null;
    HoodieBaseFile base = slice.getBaseFile().get();
    return base.getBootstrapBaseFile().isPresent() ? null : base.getPath();
  }

  /** True if a read of the slice may merge rows of its log files. */
  private static boolean merges(HoodieFileIndex index, FileSlice slice) {
    if (!slice.hasLogFiles() || !index.includeLogFiles()) return false;
    var asOf = index.options().get("as.of.instant");
    // before this version, a log file has the time of its slice and contains blocks of several
    // commits
    if (asOf.isEmpty() || version(index) < LOGS_NAMED_BY_COMMIT) return true;
    String instant = HoodieSqlCommonUtils.formatQueryInstant(asOf.get());
    return slice
        .getLogFiles()
        .map(HoodieLogFile::getDeltaCommitTime)
        // times of different lengths cannot be compared
        .anyMatch(time -> time.length() != instant.length() || time.compareTo(instant) <= 0);
  }

  private static int version(HoodieFileIndex index) {
    return index.metaClient().getTableConfig().getTableVersion().versionCode();
  }

  private static HoodieTableConfig config(LogicalPlan leaf) {
    return index(leaf).metaClient().getTableConfig();
  }

  private static boolean evolves(FileFormat format) {
    Object schema = PrivateMembers.field(format, format.getClass(), TABLE_SCHEMA);
    return ((HoodieTableSchema) schema).internalSchema().isDefined();
  }
}
