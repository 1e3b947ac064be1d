package lakesieve.deletes;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.ScanTask;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SchemaParser;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableUtil;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.expressions.ResidualEvaluator;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.util.ContentFileUtil;
import org.apache.spark.sql.SparkSession;

/**
 * The equality deletes of one version of a table, and the data files that they may reach.
 *
 * <p>Iceberg's own planning decides which delete file may reach which data file, by sequence
 * numbers, partitions and statistics. Files that are linked in this way form units. The delete
 * files of a unit can be removed as soon as its data files are converted.
 */
public final class DeletePlan {
  /** Used in place of a unit's number: all units. Python knows the value. */
  static final int ALL = -1;

  /**
   * Used in place of a unit's number: every delete file, including those that reach no data file.
   */
  private static final int EVERY_FILE = -2;

  private final FrozenVersion version;
  private final Schema schemaWithKeys;
  private final List<FileScanTask> scanTasks;
  private final FileUnits units;
  private final EqualityFiles deletes;
  private final List<AffectedFile> affectedFiles = new ArrayList<>();
  private final Map<String, AffectedFile> affectedByPath = new HashMap<>();
  private long dataFiles = 0;
  private long markedFiles = 0; // data files with position deletes or a deletion vector
  private long pairs = 0; // of a data file and a delete file that may reach it
  // needs of the data file that needs most: records of equality deletes, and their bytes
  private long largest = 0;
  private long largestBytes = 0;

  /**
   * Plan one version.
   *
   * @param reference the name of a branch or tag, any other text if a snapshot is given, or null
   * @param referenceId id of the snapshot that the reference means, or null for the current one
   */
  public DeletePlan(Table loaded, String reference, String referenceId) throws Exception {
    this.version = FrozenVersion.of(loaded, reference, referenceId);
    this.scanTasks = null;
    this.units = new FileUnits(version.table().specs());
    this.deletes = new EqualityFiles(version.table().specs(), units);
    if (version.snapshot() != null) deletes.list(version.table(), version.snapshot());
    try (CloseableIterable<ScanTask> tasks = version.scan().planFiles()) {
      planTasks(tasks, ResidualEvaluator.unpartitioned(Expressions.alwaysTrue()));
    }
    this.schemaWithKeys = withDroppedKeys(version.schema());
    numberUnits();
  }

  /** Plan what one scan of a query reads, with the filters and columns that Spark has planned. */
  public DeletePlan(QueryScan scan) throws Exception {
    this.version = FrozenVersion.of(scan);
    this.scanTasks = scan.tasks();
    this.units = new FileUnits(version.table().specs());
    this.deletes = new EqualityFiles(version.table().specs(), units);
    planTasks(scanTasks, null);
    this.schemaWithKeys =
        withDroppedKeys(KeySchemas.withKeys(scan.projection(), version.schema(), deletes.ids()));
    numberUnits();
  }

  // ---- planning -------------------------------------------------------------------------------

  /**
   * Find which delete files reach which data files.
   *
   * @param residual the filter on the rows of all tasks, or null for that of each task
   */
  private void planTasks(Iterable<? extends ScanTask> tasks, ResidualEvaluator residual)
      throws Exception {
    ConstantTasks withConstants = new ConstantTasks();
    for (ScanTask scanTask : tasks) {
      FileScanTask task = scanTask.asFileScanTask();
      dataFiles++;
      List<DeleteFile> others = EqualityFiles.others(task.deletes());
      if (!others.isEmpty()) markedFiles++;
      if (others.size() == task.deletes().size()) continue;
      ResidualEvaluator ofTask =
          residual == null ? ResidualEvaluator.unpartitioned(task.residual()) : residual;
      FileConstants constants =
          FileConstants.of(affectedFiles.size(), units.group(task.file()), task.file());
      FileScanTask withoutEquality = withConstants.task(task, others, ofTask, constants);
      addAffected(
          new AffectedFile(constants, task.file(), others, withoutEquality, new BitSet()),
          task.deletes());
    }
  }

  private void addAffected(AffectedFile affected, List<DeleteFile> reachedBy) {
    affectedByPath.put(affected.path(), affected);
    affectedFiles.add(affected);
    long records = 0;
    long bytes = 0;
    for (DeleteFile delete : reachedBy) {
      if (!EqualityFiles.isEquality(delete)) continue;
      EqualityFiles.Entry entry = deletes.reaching(delete);
      affected.kinds().set(entry.kind);
      pairs++;
      records += delete.recordCount();
      bytes += DeleteMemory.of(delete, version.schema());
      units.link(affected.group(), entry.node);
    }
    largest = Math.max(largest, records);
    largestBytes = Math.max(largestBytes, bytes);
  }

  private void numberUnits() {
    for (AffectedFile affected : affectedFiles) units.number(affected.group());
  }

  private Schema withDroppedKeys(Schema schema) {
    return KeySchemas.withDropped(schema, deletes.ids(), version.table().schemas().values());
  }

  // ---- what Python calls ----------------------------------------------------------------------

  /** Counts and kinds, for JSON. */
  public Map<String, Object> summary() {
    var entries = deletes.entries();
    Map<String, Object> summary = new LinkedHashMap<>();
    summary.put(
        "snapshot",
        version.snapshot() == null ? null : String.valueOf(version.snapshot().snapshotId()));
    summary.put("format_version", formatVersion());
    summary.put("data_files", dataFiles);
    summary.put("reached_files", affectedFiles.size());
    summary.put("pairs", pairs);
    summary.put("largest", largest);
    summary.put("largest_bytes", largestBytes);
    summary.put("position_files", deletes.positionFiles());
    summary.put("vectors", deletes.vectors());
    summary.put("marked_files", markedFiles);
    summary.put("units", units.count());
    summary.put("columns", KeySchemas.names(version.schema()));
    summary.put("bytes", entries.stream().mapToLong(e -> e.file.fileSizeInBytes()).sum());
    summary.put(
        "reached_rows", affectedFiles.stream().mapToLong(f -> f.file().recordCount()).sum());
    summary.put("dangling", entries.stream().filter(entry -> !entry.reaches()).count());
    summary.put("kinds", deletes.kinds().stream().map(this::summary).toList());
    return summary;
  }

  private Map<String, Object> summary(EqualityFiles.Kind kind) {
    return Map.of(
        "columns", kind.ids.stream().map(this::keyColumn).toList(),
        "everywhere", kind.everywhere,
        "files", kind.files(),
        "records", kind.records(),
        "reaching", kind.reaching());
  }

  private Map<String, Object> keyColumn(int id) {
    return Map.of(
        "path", KeySchemas.path(schemaWithKeys, id),
        "id", id,
        "type", schemaWithKeys.findType(id).toString());
  }

  /** The version's schema as JSON. */
  public String schemaJson() {
    return SchemaParser.toJson(version.schema());
  }

  /** The rows of the plan's files in a session. */
  public PlanRelations relations(SparkSession spark) {
    return new PlanRelations(spark, this);
  }

  /** The data files that a kind's deletes may reach. */
  public KindFiles reachedBy(int kind) {
    return new KindFiles(
        kind, affectedFiles.stream().filter(file -> file.kinds().get(kind)).toList());
  }

  /** How many delete files of a kind reach a data file of the unit. */
  public int reaching(int kind, int unit) {
    return entries(kind, unit).size();
  }

  /** The delete files, their records, the data files and the rows of a unit's conversion. */
  public long[] extent(int unit, boolean dangling) {
    long[] extent = new long[4];
    for (DeleteFile file : removableDeletes(unit, dangling)) {
      extent[0]++;
      extent[1] += file.recordCount();
    }
    for (AffectedFile affected : affectedFiles) {
      if (!isRead(affected, unit)) continue;
      extent[2]++;
      extent[3] += affected.file().recordCount();
    }
    return extent;
  }

  // ---- what the relations need ----------------------------------------------------------------

  FrozenVersion version() {
    return version;
  }

  /**
   * The schema that is read: it includes the equality columns that the version or the query lacks.
   */
  Schema schemaWithKeys() {
    return schemaWithKeys;
  }

  /** The tasks of a query's scan; null for a whole version. */
  List<FileScanTask> scanTasks() {
    return scanTasks;
  }

  EqualityFiles deletes() {
    return deletes;
  }

  List<AffectedFile> affectedFiles() {
    return Collections.unmodifiableList(affectedFiles);
  }

  Map<String, AffectedFile> affectedByPath() {
    return Collections.unmodifiableMap(affectedByPath);
  }

  /** True for a data file of a unit that must be searched for deleted rows. */
  boolean isRead(AffectedFile affected, int unit) {
    return !affected.kinds().isEmpty() && isIn(unit, affected.group());
  }

  /** The delete files of a kind that reach a data file of the unit. */
  List<EqualityFiles.Entry> entries(int kind, int unit) {
    return deletes.entries().stream()
        .filter(entry -> entry.kind == kind)
        .filter(entry -> unit == EVERY_FILE || (entry.reaches() && isIn(unit, entry.node)))
        .toList();
  }

  private boolean isIn(int unit, int node) {
    int number = units.unit(node);
    return number >= 0 && (unit == ALL || number == unit);
  }

  // ---- what a commit needs --------------------------------------------------------------------

  /**
   * The equality delete files that can be removed when a unit is converted.
   *
   * @param dangling also those that reach no data file
   */
  List<DeleteFile> removableDeletes(int unit, boolean dangling) {
    return deletes.entries().stream()
        .filter(entry -> entry.reaches() ? isIn(unit, entry.node) : dangling)
        .map(entry -> entry.file)
        .toList();
  }

  /** The affected data file with this path. */
  DataFile affectedFile(String path) {
    return affectedByPath.get(path).file();
  }

  /** The deletes of a data file that a new deletion vector with all their positions replaces. */
  List<DeleteFile> replacedDeletes(String path) {
    return affectedByPath.get(path).positionDeletes().stream()
        .filter(ContentFileUtil::isFileScoped)
        .toList();
  }

  /** Version of the table format. */
  int formatVersion() {
    return TableUtil.formatVersion(version.table());
  }

  /** A partition spec of the table. */
  PartitionSpec spec(int id) {
    return version.table().specs().get(id);
  }
}
