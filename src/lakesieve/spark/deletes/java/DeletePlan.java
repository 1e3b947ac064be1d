package lakesieve.deletes;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.BatchScan;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.ScanTask;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SchemaParser;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.StaticTableOperations;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableUtil;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.expressions.ResidualEvaluator;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.util.ContentFileUtil;
import org.apache.iceberg.util.SnapshotUtil;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import ${sql}.Dataset;
import ${sql}.SparkSession;
import org.apache.spark.sql.types.StructType;

/**
 * The equality deletes of one version of a table, and the data files that they may reach.
 *
 * <p>Which delete file may reach which data file is decided by Iceberg's own planning: by sequence
 * numbers, partitions and statistics. Files linked in this way form units, so that the delete files
 * of a unit can be removed as soon as its data files are converted.
 */
public final class DeletePlan {
  private static final int ALL = -1;
  private static final int EVERY_FILE = -2;

  private final BaseTable table;
  private final String branch;
  private final Long snapshotId; // null for the current one
  private final Snapshot snapshot;
  private final Schema schema;
  private final Schema schemaWithKeys;
  private final List<FileScanTask> scanTasks; // of a query's scan, null for a whole version
  private final FileUnits units;
  private final EqualityFiles deletes;
  private final List<AffectedFile> affectedFiles = new ArrayList<>();
  private final Map<String, AffectedFile> affectedByPath = new HashMap<>();
  private final Map<String, Object[]> constants = new HashMap<>(); // of affected files, by path
  private long dataFiles = 0;
  private long pairs = 0;
  private long largest = 0; // most records of equality deletes that one data file needs
  private long largestBytes = 0;
  private long markedFiles = 0; // data files with position deletes or a deletion vector

  /**
   * Plan one version.
   *
   * @param reference the name of a branch or tag, any other text if a snapshot is given, or null
   * @param referenceId id of the snapshot that the reference means, or null for the current one
   */
  public DeletePlan(Table loaded, String reference, String referenceId) throws Exception {
    if (!(loaded instanceof HasTableOperations)) {
      throw new UnsupportedOperationException("metadata table");
    }
    this.table = frozen(loaded);
    SnapshotRef ref = reference == null ? null : (SnapshotRef) table.refs().get(reference);
    this.branch = ref != null && ref.isBranch() ? reference : null;
    if (reference == null || branch != null) {
      this.snapshotId = null;
      this.snapshot = branch == null ? table.currentSnapshot() : table.snapshot(branch);
      this.schema = table.schema();
    } else {
      this.snapshotId = Long.valueOf(referenceId);
      this.snapshot = table.snapshot(snapshotId.longValue());
      this.schema = SnapshotUtil.schemaFor(table, snapshotId.longValue());
    }
    this.scanTasks = null;
    this.units = new FileUnits(table.specs());
    this.deletes = new EqualityFiles(table, units);
    if (snapshot != null) deletes.list(snapshot);
    planTasks(scan().planFiles(), ResidualEvaluator.unpartitioned(Expressions.alwaysTrue()));
    this.schemaWithKeys = KeySchemas.withDropped(table, schema, deletes);
    numberUnits();
  }

  /**
   * Plan what one scan of a query reads, as Spark has planned it, with its filters and columns.
   *
   * @param scan the table, the version's schema, the columns to read, the snapshot's id, the tasks
   */
  public DeletePlan(Map<String, Object> scan) throws Exception {
    this.table = frozen((Table) scan.get("table"));
    this.branch = null;
    this.snapshotId = (Long) scan.get("snapshot");
    this.snapshot = table.snapshot(snapshotId.longValue());
    if (snapshot == null) throw new IllegalStateException("the snapshot has expired");
    this.schema = (Schema) scan.get("schema");
    this.scanTasks = (List<FileScanTask>) scan.get("tasks");
    this.units = new FileUnits(table.specs());
    this.deletes = new EqualityFiles(table, units);
    planTasks(CloseableIterable.withNoopClose(scanTasks), null);
    Schema projected = KeySchemas.withKeys((Schema) scan.get("projection"), schema, deletes);
    this.schemaWithKeys = KeySchemas.withDropped(table, projected, deletes);
    numberUnits();
  }

  private static BaseTable frozen(Table loaded) {
    return new BaseTable(
        new StaticTableOperations(
            ((HasTableOperations) loaded).operations().current(),
            loaded.io(),
            loaded.locationProvider()),
        loaded.name());
  }

  private BatchScan scan() {
    BatchScan scan = table.newBatchScan();
    if (branch != null) return (BatchScan) scan.useRef(branch);
    return snapshotId == null ? scan : scan.useSnapshot(snapshotId.longValue());
  }

  // ---- planning -------------------------------------------------------------------------------

  /**
   * Find which delete files reach which data files.
   *
   * @param residual the filter on the rows of all tasks, or null for that of each task
   */
  private void planTasks(CloseableIterable<? extends ScanTask> tasks, ResidualEvaluator residual)
      throws Exception {
    FileConstants fileConstants = new FileConstants();
    try {
      for (ScanTask scanTask : tasks) {
        FileScanTask task = scanTask.asFileScanTask();
        dataFiles++;
        DeleteFile[] positionDeletes = FileConstants.withoutEquality(task.deletes());
        if (positionDeletes.length > 0) markedFiles++;
        if (positionDeletes.length == task.deletes().size()) continue;
        ResidualEvaluator ofTask = ResidualEvaluator.unpartitioned(task.residual());
        addAffected(task, positionDeletes, fileConstants, residual == null ? ofTask : residual);
      }
    } finally {
      tasks.close();
    }
  }

  private void addAffected(
      FileScanTask task,
      DeleteFile[] positionDeletes,
      FileConstants fileConstants,
      ResidualEvaluator residual)
      throws Exception {
    AffectedFile affected = new AffectedFile();
    affected.file = (DataFile) task.file();
    affected.positionDeletes = positionDeletes;
    affected.group = units.group(affected.file);
    Object[] values = FileConstants.of(affectedFiles.size(), affected.group, affected.file);
    affected.task = fileConstants.task(task, positionDeletes, residual, values);
    constants.put(affected.file.location(), values);
    affectedByPath.put(affected.file.location(), affected);
    affectedFiles.add(affected);
    long records = 0;
    long bytes = 0;
    for (DeleteFile delete : task.deletes()) {
      if (delete.content() != FileContent.EQUALITY_DELETES) continue;
      EqualityFiles.Entry entry = deletes.reaching(delete);
      affected.kinds.set(entry.kind);
      pairs++;
      records += delete.recordCount();
      bytes += DeleteMemory.of(delete, schema);
      units.link(affected.group, entry.node);
    }
    largest = Math.max(largest, records);
    largestBytes = Math.max(largestBytes, bytes);
  }

  private void numberUnits() {
    for (AffectedFile affected : affectedFiles) units.number(affected.group);
  }

  private boolean isIn(int unit, int node) {
    int number = units.unit(node);
    return number >= 0 && (unit == ALL || number == unit);
  }

  private boolean isRead(AffectedFile affected, int unit) {
    return !affected.kinds.isEmpty() && isIn(unit, affected.group);
  }

  /** The data files that a kind's deletes may reach. */
  public KindFiles reachedBy(int kind) {
    List<AffectedFile> files = new ArrayList<>();
    for (AffectedFile affected : affectedFiles) {
      if (affected.kinds.get(kind)) files.add(affected);
    }
    return new KindFiles(kind, files);
  }

  /** The version's schema as JSON. */
  public String schemaJson() {
    return SchemaParser.toJson(schema);
  }

  // ---- what Python calls ----------------------------------------------------------------------

  /** Counts and kinds, for JSON. */
  public Map<String, Object> summary() {
    long bytes = 0;
    long rows = 0;
    int dangling = 0;
    List<Map<String, Object>> kinds = new ArrayList<>();
    for (EqualityFiles.Entry entry : deletes.entries) {
      bytes += entry.file.fileSizeInBytes();
      if (!entry.reaches) dangling++;
    }
    for (AffectedFile affected : affectedFiles) rows += affected.file.recordCount();
    for (EqualityFiles.Kind kind : deletes.kinds) kinds.add(summary(kind));
    Map<String, Object> summary = new LinkedHashMap<>();
    summary.put("snapshot", snapshot == null ? null : String.valueOf(snapshot.snapshotId()));
    summary.put("format_version", TableUtil.formatVersion(table));
    summary.put("data_files", dataFiles);
    summary.put("reached_files", affectedFiles.size());
    summary.put("pairs", pairs);
    summary.put("largest", largest);
    summary.put("largest_bytes", largestBytes);
    summary.put("position_files", deletes.positionFiles);
    summary.put("vectors", deletes.vectors);
    summary.put("marked_files", markedFiles);
    summary.put("units", units.count());
    summary.put("columns", KeySchemas.names(schema));
    summary.put("bytes", bytes);
    summary.put("reached_rows", rows);
    summary.put("dangling", dangling);
    summary.put("kinds", kinds);
    return summary;
  }

  private Map<String, Object> summary(EqualityFiles.Kind kind) {
    List<Map<String, Object>> columns = new ArrayList<>();
    for (Integer id : kind.ids) {
      Map<String, Object> column = new LinkedHashMap<>();
      column.put("path", KeySchemas.path(schemaWithKeys, id));
      column.put("id", id);
      column.put("type", schemaWithKeys.findType(id).toString());
      columns.add(column);
    }
    Map<String, Object> summary = new LinkedHashMap<>();
    summary.put("columns", columns);
    summary.put("everywhere", kind.everywhere);
    summary.put("files", kind.files);
    summary.put("records", kind.records);
    summary.put("reaching", kind.reaching);
    return summary;
  }

  /** Rows of the data files that no equality delete reaches. */
  public Dataset<Row> untouched(SparkSession spark, String name) {
    if (scanTasks == null) {
      return relation(spark, name, schemaWithKeys, ScanView.ofFiles(scan(), constants, false), null);
    }
    List<FileScanTask> tasks = new ArrayList<>();
    for (FileScanTask task : scanTasks) {
      if (!affectedByPath.containsKey(((DataFile) task.file()).location())) tasks.add(task);
    }
    return relation(spark, name, schemaWithKeys, ScanView.ofTasks(scan(), tasks), null);
  }

  /** Rows of the affected data files, without the effect of equality deletes. */
  public Dataset<Row> touched(SparkSession spark, String name) {
    if (scanTasks != null) return touchedUnit(spark, name, ALL);
    BatchScan scan = ScanView.ofFiles(scan(), constants, true);
    return relation(spark, name, FileConstants.with(schemaWithKeys), scan, null);
  }

  /** The same of one unit, without planning files again. */
  public Dataset<Row> touchedUnit(SparkSession spark, String name, int unit) {
    List<FileScanTask> tasks = new ArrayList<>();
    for (AffectedFile affected : affectedFiles) {
      if (isRead(affected, unit)) tasks.add(affected.task);
    }
    BatchScan scan = ScanView.ofTasks(scan(), tasks);
    return relation(spark, name, FileConstants.with(schemaWithKeys), scan, null);
  }

  /** The affected data files of a unit: number, path. */
  public Dataset<Row> touchedFiles(SparkSession spark, StructType type, int unit) {
    List<Row> rows = new ArrayList<>();
    int number = 0;
    for (AffectedFile affected : affectedFiles) {
      if (isRead(affected, unit)) rows.add(RowFactory.create(number, affected.file.location()));
      number++;
    }
    return spark.createDataFrame(rows, type);
  }

  /** The rows of delete files of a kind, read as data, with the columns of the kind. */
  public Dataset<Row> deletes(SparkSession spark, String name, int kind, int unit)
      throws Exception {
    TreeSet<Integer> ids = ((EqualityFiles.Kind) deletes.kinds.get(kind)).ids;
    Schema keys = new Schema(TypeUtil.select(schemaWithKeys, ids).columns());
    FileConstants fileConstants = new FileConstants();
    List<FileScanTask> tasks = new ArrayList<>();
    for (EqualityFiles.Entry entry : entries(kind, unit)) {
      Object[] values = FileConstants.of(tasks.size(), entry.group, entry.file);
      tasks.add(fileConstants.task(entry.file, keys, values));
    }
    BatchScan scan = ScanView.ofTasks(scan(), tasks);
    PartitionSpec unpartitioned = PartitionSpec.unpartitioned();
    return relation(spark, name, FileConstants.with(keys), scan, unpartitioned);
  }

  private Dataset<Row> relation(
      SparkSession spark, String name, Schema schema, BatchScan scan, PartitionSpec spec) {
    return TableView.relation(spark, table, name, schema, snapshot, scan, spec);
  }

  /** How many delete files of a kind reach a data file of the unit. */
  public int reaching(int kind, int unit) {
    return entries(kind, unit).size();
  }

  private List<EqualityFiles.Entry> entries(int kind, int unit) {
    List<EqualityFiles.Entry> found = new ArrayList<>();
    for (EqualityFiles.Entry entry : deletes.entries) {
      if (entry.kind != kind) continue;
      if (unit == EVERY_FILE || (entry.reaches && isIn(unit, entry.node))) found.add(entry);
    }
    return found;
  }

  // ---- what a commit needs --------------------------------------------------------------------

  /**
   * The equality delete files that can be removed when a unit is converted.
   *
   * @param dangling also those that reach no data file
   */
  public List<DeleteFile> removableDeletes(int unit, boolean dangling) {
    List<DeleteFile> files = new ArrayList<>();
    for (EqualityFiles.Entry entry : deletes.entries) {
      if (entry.reaches ? isIn(unit, entry.node) : dangling) files.add(entry.file);
    }
    return files;
  }

  /** What a unit's conversion removes and reads: delete files, their records, data files, rows. */
  public long[] extent(int unit, boolean dangling) {
    long[] extent = new long[4];
    for (DeleteFile file : removableDeletes(unit, dangling)) {
      extent[0]++;
      extent[1] += file.recordCount();
    }
    for (AffectedFile affected : affectedFiles) {
      if (!isRead(affected, unit)) continue;
      extent[2]++;
      extent[3] += affected.file.recordCount();
    }
    return extent;
  }

  /** The affected data file with this path. */
  public DataFile affectedFile(String path) {
    return ((AffectedFile) affectedByPath.get(path)).file;
  }

  /** The deletes of a data file that a new deletion vector with all their positions replaces. */
  public List<DeleteFile> replacedDeletes(String path) {
    List<DeleteFile> files = new ArrayList<>();
    for (DeleteFile file : ((AffectedFile) affectedByPath.get(path)).positionDeletes) {
      if (ContentFileUtil.isFileScoped(file)) files.add(file);
    }
    return files;
  }

  /** The snapshot of the version, null for a table without data. */
  public Snapshot snapshot() {
    return snapshot;
  }

  /** Version of the table format. */
  public int formatVersion() {
    return TableUtil.formatVersion(table);
  }

  /** A partition spec of the table. */
  public PartitionSpec spec(int id) {
    return (PartitionSpec) table.specs().get(id);
  }
}
