package lakesieve;

import java.util.ArrayList;
import java.util.Date;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hudi.BaseHoodieTableFileIndex;
import org.apache.hudi.HoodieFileIndex;
import org.apache.hudi.HoodieTableSchema;
import org.apache.hudi.common.config.HoodieMetadataConfig;
import org.apache.hudi.common.engine.HoodieLocalEngineContext;
import org.apache.hudi.common.fs.FSUtils;
import org.apache.hudi.common.model.FileSlice;
import org.apache.hudi.common.model.HoodieBaseFile;
import org.apache.hudi.common.model.HoodieFileGroup;
import org.apache.hudi.common.model.HoodieLogFile;
import org.apache.hudi.common.table.HoodieTableConfig;
import org.apache.hudi.common.table.HoodieTableMetaClient;
import org.apache.hudi.common.table.timeline.HoodieInstant;
import org.apache.hudi.common.table.timeline.HoodieInstantTimeGenerator;
import org.apache.hudi.common.table.timeline.HoodieTimeline;
import org.apache.hudi.common.table.view.FileSystemViewManager;
import org.apache.hudi.common.table.view.HoodieTableFileSystemView;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.hudi.HoodieSqlCommonUtils;

/**
 * The schema and the file slices of a read of a Hudi table.
 *
 * <p>The rows of a slice without log files, up to the instant that is read, are those of its base
 * file, which never changes. All other slices are always read. Private names used:
 * BaseHoodieTableFileIndex.getAllInputFileSlices; HoodieFileGroupReaderBasedFileFormat.tableSchema.
 */
public final class HudiFiles {
  private static final String FILE_FORMAT =
      "org.apache.spark.sql.execution.datasources.parquet.HoodieFileGroupReaderBasedFileFormat";
  private static final int LOGS_NAMED_BY_COMMIT = 8;
  private static final String FILE_INDEX = "org.apache.hudi.HoodieFileIndex";

  private HudiFiles() {}

  /** The file index of a leaf that reads a version of a Hudi table, or null. */
  public static HoodieFileIndex index(LogicalPlan leaf) {
    HadoopFsRelation relation = FileScans.relation(leaf);
    if (relation == null || !relation.fileFormat().getClass().getName().equals(FILE_FORMAT)) return null;
    FileIndex index = relation.location();
    // subclasses are for incremental and change data queries
    return index.getClass().getName().equals(FILE_INDEX) ? (HoodieFileIndex) index : null;
  }

  /** The only leaf of a plan if it reads a version of a Hudi table, or null. */
  public static LogicalPlan leaf(LogicalPlan plan) {
    scala.collection.Seq leaves = plan.collectLeaves();
    if (leaves.size() != 1) return null;
    LogicalPlan leaf = (LogicalPlan) leaves.apply(0);
    return index(leaf) == null ? null : leaf;
  }

  /** The base path of the table. */
  public static String location(LogicalPlan leaf) {
    return index(leaf).metaClient().getBasePath().toString();
  }

  /** True when row-level commands write log files. */
  public static boolean mergesOnRead(LogicalPlan leaf) {
    return "MERGE_ON_READ".equals(config(leaf).getTableType().name());
  }

  /** Time of the newest completed commit, not later than a given time if there is one, or null. */
  public static String instant(LogicalPlan leaf, String latest) {
    HoodieTimeline commits =
        index(leaf).metaClient().getCommitsTimeline().filterCompletedInstants();
    if (latest != null) commits = commits.findInstantsBeforeOrEquals(latest);
    if (!commits.lastInstant().isPresent()) return null;
    return ((HoodieInstant) commits.lastInstant().get()).requestedTime();
  }

  /** A point in time as Hudi writes it in commit times, in the time zone of the table. */
  public static String moment(long millis) {
    return HoodieInstantTimeGenerator.formatDateBasedOnTimeZone(new Date(millis));
  }

  /** How a leaf is read: its schema, and the features that a reader of the table must support. */
  public static String schema(LogicalPlan leaf) throws Exception {
    HadoopFsRelation relation = FileScans.relation(leaf);
    Map<String, Object> more = new LinkedHashMap<>();
    more.put("version", version(index(leaf)));
    List<String> features = new ArrayList<>();
    if (config(leaf).isMultipleBaseFileFormatsEnabled()) features.add("several base file formats");
    if (!"PARQUET".equals(config(leaf).getBaseFileFormat().name())) {
      features.add("base files of the format " + config(leaf).getBaseFileFormat().name());
    }
    if (evolves(relation.fileFormat())) features.add("schema evolution on read");
    more.put("features", features);
    return FileScans.document(
        relation.sparkSession(),
        relation.schema().json(),
        relation.partitionSchema().fieldNames(),
        more);
  }

  /** File slices by partition, those of the leaf's version. */
  public static Map<?, List<FileSlice>> slices(HoodieFileIndex index) throws Exception {
    Class<?> owner = BaseHoodieTableFileIndex.class;
    return (Map<?, List<FileSlice>>)
        PrivateMembers.call(index, owner, "getAllInputFileSlices", new Class<?>[0]);
  }

  /** Path of the base file that has exactly the rows of the slice, or null if there is none. */
  public static String identity(HoodieFileIndex index, FileSlice slice) {
    if (!slice.getBaseFile().isPresent() || merges(index, slice)) return null;
    HoodieBaseFile base = (HoodieBaseFile) slice.getBaseFile().get();
    return base.getBootstrapBaseFile().isPresent() ? null : base.getPath();
  }

  /** True if a read of the slice may merge rows of its log files. */
  private static boolean merges(HoodieFileIndex index, FileSlice slice) {
    if (!slice.hasLogFiles() || !index.includeLogFiles()) return false;
    scala.Option asOf = index.options().get("as.of.instant");
    // before version 8, a log file has the time of its slice and blocks of several commits
    if (asOf.isEmpty() || version(index) < LOGS_NAMED_BY_COMMIT) return true;
    String instant = HoodieSqlCommonUtils.formatQueryInstant((String) asOf.get());
    Iterator<HoodieLogFile> logFiles = slice.getLogFiles().iterator();
    while (logFiles.hasNext()) {
      String written = ((HoodieLogFile) logFiles.next()).getDeltaCommitTime();
      if (written.length() != instant.length() || written.compareTo(instant) <= 0) return true;
    }
    return false;
  }

  private static int version(HoodieFileIndex index) {
    return index.metaClient().getTableConfig().getTableVersion().versionCode();
  }

  /** All file slices of a leaf, for {@link #files}. */
  public static Iterator<FileSlice> listed(LogicalPlan leaf) throws Exception {
    List<FileSlice> found = new ArrayList<>();
    for (List<FileSlice> slices : slices(index(leaf)).values()) {
      for (FileSlice slice : slices) {
        if (!slice.isEmpty()) found.add(slice);
      }
    }
    return found.iterator();
  }

  /**
   * The next slices, one a line: path, size, and "1" if that file has exactly the rows of the slice.
   * The empty string after the last.
   */
  public static String files(LogicalPlan leaf, Iterator<FileSlice> slices) {
    StringBuilder lines = new StringBuilder();
    HoodieFileIndex index = index(leaf);
    for (int i = 0; i < FileScans.LINES && slices.hasNext(); i++) {
      FileSlice slice = (FileSlice) slices.next();
      String path = path(slice);
      if (path.indexOf('\t') >= 0) throw new IllegalArgumentException("tab in " + path);
      FileScans.append(lines, path);
      lines.append('\t').append(slice.getTotalFileSize());
      lines.append('\t').append(identity(index, slice) == null ? "" : "1");
    }
    return lines.toString();
  }

  /** Paths of the next base files, one a line; the empty string after the last. */
  public static String paths(Iterator<HoodieBaseFile> bases) {
    StringBuilder lines = new StringBuilder();
    for (int i = 0; i < FileScans.LINES && bases.hasNext(); i++) {
      FileScans.append(lines, ((HoodieBaseFile) bases.next()).getPath());
    }
    return lines.toString();
  }

  /** All base files that the table still keeps, for {@link #paths}. */
  public static Iterator<HoodieBaseFile> retained(LogicalPlan leaf) throws Exception {
    HoodieTableMetaClient client = HoodieTableMetaClient.reload(index(leaf).metaClient());
    HoodieLocalEngineContext engine = new HoodieLocalEngineContext(client.getStorageConf());
    HoodieMetadataConfig config =
        HoodieMetadataConfig.newBuilder()
            .enable(client.getTableConfig().isMetadataTableAvailable())
            .build();
    HoodieTableFileSystemView view =
        FileSystemViewManager.createInMemoryFileSystemView(engine, client, config);
    List<HoodieBaseFile> bases = new ArrayList<>();
    try {
      for (String partition : FSUtils.getAllPartitionPaths(engine, client, config)) {
        addBaseFiles(view.getAllFileGroups(partition).iterator(), bases);
        // older versions still use the files that clustering replaced
        addBaseFiles(view.getAllReplacedFileGroups(partition).iterator(), bases);
      }
    } finally {
      view.close();
    }
    return bases.iterator();
  }

  private static void addBaseFiles(Iterator<HoodieFileGroup> groups, List<HoodieBaseFile> bases) {
    while (groups.hasNext()) {
      Iterator<HoodieBaseFile> files =
          ((HoodieFileGroup) groups.next()).getAllBaseFiles().iterator();
      while (files.hasNext()) bases.add((HoodieBaseFile) files.next());
    }
  }

  private static HoodieTableConfig config(LogicalPlan leaf) {
    return index(leaf).metaClient().getTableConfig();
  }

  private static String path(FileSlice slice) {
    if (slice.getBaseFile().isPresent()) return ((HoodieBaseFile) slice.getBaseFile().get()).getPath();
    return ((HoodieLogFile) slice.getLatestLogFile().get()).getPath().toString();
  }

  private static boolean evolves(Object format) {
    Object schema = PrivateMembers.field(format, format.getClass(), "tableSchema");
    return ((HoodieTableSchema) schema).internalSchema().isDefined();
  }
}
