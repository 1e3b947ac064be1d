package lakesieve.deletes;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
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
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.StructType;

/**
 * Which equality deletes one version of a table has, and which data files they may reach.
 *
 * <p>The pairs are those of Iceberg's own planning: sequence numbers, partitions, statistics. Data
 * and delete files that are linked by pairs form units, so that the delete files of a unit can go
 * as soon as its data files are done.
 */
public final class DeletePlan {
  private static final int ALL = -1;
  private static final int EVERY_FILE = -2;

  private final BaseTable table;
  private final String branch;
  private final Long pinned;
  private final Snapshot snapshot;
  private final Schema schema;
  private final Schema full;
  private final List given; // the tasks of a query's scan
  private final FileUnits units;
  private final EqualityFiles deletes;
  private final List reached = new ArrayList(); // ReachedFile, one a data file
  private final Map reachedByPath = new HashMap();
  private final Map constants = new HashMap(); // of the reached data files, by path
  private long dataFiles = 0;
  private long pairs = 0;
  private long largest = 0;
  private long largestBytes = 0;
  private long marked = 0; // data files with position deletes or a deletion vector

  /**
   * Plan one version.
   *
   * @param reference the name of a branch or tag, any other text if a snapshot is given, or null
   * @param snapshotId the snapshot that {@code reference} means, or null for the current one
   */
  public DeletePlan(Table loaded, String reference, String snapshotId) throws Exception {
    if (!(loaded instanceof HasTableOperations)) {
      throw new UnsupportedOperationException("metadata table");
    }
    this.table = frozen(loaded);
    SnapshotRef ref = reference == null ? null : (SnapshotRef) table.refs().get(reference);
    this.branch = ref != null && ref.isBranch() ? reference : null;
    if (reference == null || branch != null) {
      this.pinned = null;
      this.snapshot = branch == null ? table.currentSnapshot() : table.snapshot(branch);
      this.schema = table.schema();
    } else {
      this.pinned = Long.valueOf(snapshotId);
      this.snapshot = table.snapshot(pinned.longValue());
      this.schema = SnapshotUtil.schemaFor(table, pinned.longValue());
    }
    this.given = null;
    this.units = new FileUnits(table.specs());
    this.deletes = new EqualityFiles(table, units);
    if (snapshot != null) deletes.list(snapshot);
    pair(scan().planFiles(), ResidualEvaluator.unpartitioned(Expressions.alwaysTrue()));
    this.full = KeySchemas.withDropped(table, schema, deletes);
    number();
  }

  /**
   * Plan what one scan of a query reads, as Spark has planned it: filters and columns pushed.
   *
   * @param scan the table, the version's schema, the columns wanted, the snapshot's id, the tasks
   */
  public DeletePlan(Map scan) throws Exception {
    this.table = frozen((Table) scan.get("table"));
    this.branch = null;
    this.pinned = (Long) scan.get("snapshot");
    this.snapshot = table.snapshot(pinned.longValue());
    if (snapshot == null) throw new IllegalStateException("the snapshot has expired");
    this.schema = (Schema) scan.get("schema");
    this.given = (List) scan.get("tasks");
    this.units = new FileUnits(table.specs());
    this.deletes = new EqualityFiles(table, units);
    pair(CloseableIterable.withNoopClose(given), null);
    Schema projected = KeySchemas.withKeys((Schema) scan.get("projection"), schema, deletes);
    this.full = KeySchemas.withDropped(table, projected, deletes);
    number();
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
    return pinned == null ? scan : scan.useSnapshot(pinned.longValue());
  }

  // ---- planning -------------------------------------------------------------------------------

  /**
   * Find which delete files reach which data files.
   *
   * @param residual what is left of the filters for the rows of every task, or null for its own
   */
  private void pair(CloseableIterable tasks, ResidualEvaluator residual) throws Exception {
    FileConstants made = new FileConstants();
    try {
      for (Iterator it = tasks.iterator(); it.hasNext(); ) {
        FileScanTask task = (FileScanTask) it.next();
        dataFiles++;
        DeleteFile[] others = FileConstants.withoutEquality(task.deletes());
        if (others.length > 0) marked++;
        if (others.length == task.deletes().size()) continue;
        ResidualEvaluator own = ResidualEvaluator.unpartitioned(task.residual());
        reach(task, others, made, residual == null ? own : residual);
      }
    } finally {
      tasks.close();
    }
  }

  private void reach(
      FileScanTask task, DeleteFile[] others, FileConstants made, ResidualEvaluator residual)
      throws Exception {
    DataFile file = (DataFile) task.file();
    ReachedFile r = new ReachedFile();
    r.file = file;
    r.others = others;
    r.group = units.group(file);
    Object[] known = FileConstants.of(reached.size(), r.group, file);
    r.task = made.task(task, others, residual, known);
    constants.put(file.location(), known);
    reachedByPath.put(file.location(), r);
    reached.add(r);
    long records = 0;
    long bytes = 0;
    for (Iterator it = task.deletes().iterator(); it.hasNext(); ) {
      DeleteFile delete = (DeleteFile) it.next();
      if (delete.content() != FileContent.EQUALITY_DELETES) continue;
      EqualityFiles.Entry e = deletes.reaching(delete);
      r.kinds.set(e.kind);
      pairs++;
      records += delete.recordCount();
      bytes += DeleteMemory.of(delete, schema);
      units.link(r.group, e.node);
    }
    largest = Math.max(largest, records);
    largestBytes = Math.max(largestBytes, bytes);
  }

  private void number() {
    for (int i = 0; i < reached.size(); i++) units.number(((ReachedFile) reached.get(i)).group);
  }

  private boolean in(int unit, int node) {
    int number = units.unit(node);
    return number >= 0 && (unit == ALL || number == unit);
  }

  private boolean isRead(ReachedFile r, int unit) {
    return !r.kinds.isEmpty() && in(unit, r.group);
  }

  /** The data files that a kind's deletes may reach. */
  public KindFiles reachedBy(int kind) {
    List files = new ArrayList();
    for (int i = 0; i < reached.size(); i++) {
      if (((ReachedFile) reached.get(i)).kinds.get(kind)) files.add(reached.get(i));
    }
    return new KindFiles(kind, files);
  }

  /** The version's schema as JSON. */
  public String schemaJson() {
    return SchemaParser.toJson(schema);
  }

  // ---- what Python asks -----------------------------------------------------------------------

  /** Counts and kinds, for JSON. */
  public Map summary() {
    Map m = new LinkedHashMap();
    m.put("snapshot", snapshot == null ? null : String.valueOf(snapshot.snapshotId()));
    m.put("format_version", Integer.valueOf(TableUtil.formatVersion(table)));
    m.put("data_files", Long.valueOf(dataFiles));
    m.put("reached_files", Integer.valueOf(reached.size()));
    m.put("pairs", Long.valueOf(pairs));
    m.put("largest", Long.valueOf(largest));
    m.put("largest_bytes", Long.valueOf(largestBytes));
    m.put("position_files", Long.valueOf(deletes.positionFiles));
    m.put("vectors", Long.valueOf(deletes.vectors));
    m.put("marked_files", Long.valueOf(marked));
    m.put("units", Integer.valueOf(units.count()));
    m.put("columns", KeySchemas.names(schema));
    long bytes = 0;
    long rows = 0;
    int dangling = 0;
    for (EqualityFiles.Entry e : deletes.entries) {
      bytes += e.file.fileSizeInBytes();
      if (!e.reaches) dangling++;
    }
    for (int i = 0; i < reached.size(); i++) {
      rows += ((ReachedFile) reached.get(i)).file.recordCount();
    }
    m.put("bytes", Long.valueOf(bytes));
    m.put("reached_rows", Long.valueOf(rows));
    m.put("dangling", Integer.valueOf(dangling));
    List kinds = new ArrayList();
    for (EqualityFiles.Kind kind : deletes.kinds) kinds.add(summary(kind));
    m.put("kinds", kinds);
    return m;
  }

  private Map summary(EqualityFiles.Kind kind) {
    Map m = new LinkedHashMap();
    List columns = new ArrayList();
    for (Iterator it = kind.ids.iterator(); it.hasNext(); ) {
      int id = ((Integer) it.next()).intValue();
      Map column = new LinkedHashMap();
      column.put("path", KeySchemas.path(full, id));
      column.put("id", Integer.valueOf(id));
      column.put("type", full.findType(id).toString());
      columns.add(column);
    }
    m.put("columns", columns);
    m.put("everywhere", Boolean.valueOf(kind.everywhere));
    m.put("files", Long.valueOf(kind.files));
    m.put("records", Long.valueOf(kind.records));
    m.put("reaching", Long.valueOf(kind.reaching));
    return m;
  }

  /** Rows of the data files that no equality delete reaches. */
  public Dataset untouched(SparkSession spark, String name) {
    if (given == null) {
      return relation(spark, name, full, ScanView.ofFiles(scan(), constants, false), null);
    }
    List tasks = new ArrayList();
    for (int i = 0; i < given.size(); i++) {
      FileScanTask task = (FileScanTask) given.get(i);
      if (!reachedByPath.containsKey(((DataFile) task.file()).location())) tasks.add(task);
    }
    return relation(spark, name, full, ScanView.ofTasks(scan(), tasks), null);
  }

  /** Rows of the data files that equality deletes reach, without those deletes. */
  public Dataset touched(SparkSession spark, String name) {
    if (given != null) return touchedUnit(spark, name, ALL);
    BatchScan scan = ScanView.ofFiles(scan(), constants, true);
    return relation(spark, name, FileConstants.with(full), scan, null);
  }

  /** The same of one unit, not planned again. */
  public Dataset touchedUnit(SparkSession spark, String name, int unit) {
    List tasks = new ArrayList();
    for (int i = 0; i < reached.size(); i++) {
      ReachedFile r = (ReachedFile) reached.get(i);
      if (isRead(r, unit)) tasks.add(r.task);
    }
    BatchScan scan = ScanView.ofTasks(scan(), tasks);
    return relation(spark, name, FileConstants.with(full), scan, null);
  }

  /** The data files of a unit: number, path. */
  public Dataset touchedFiles(SparkSession spark, StructType type, int unit) {
    List rows = new ArrayList();
    for (int i = 0; i < reached.size(); i++) {
      ReachedFile r = (ReachedFile) reached.get(i);
      if (!isRead(r, unit)) continue;
      rows.add(RowFactory.create(new Object[] {Integer.valueOf(i), r.file.location()}));
    }
    return spark.createDataFrame(rows, type);
  }

  /** The rows of delete files of a kind, read as data, with the columns of the kind. */
  public Dataset deletes(SparkSession spark, String name, int kind, int unit) throws Exception {
    TreeSet ids = ((EqualityFiles.Kind) this.deletes.kinds.get(kind)).ids;
    Schema keys = new Schema(TypeUtil.select(full, ids).columns());
    FileConstants made = new FileConstants();
    List tasks = new ArrayList();
    List files = files(kind, unit);
    for (int i = 0; i < files.size(); i++) {
      EqualityFiles.Entry e = (EqualityFiles.Entry) files.get(i);
      tasks.add(made.task(e.file, keys, FileConstants.of(i, e.group, e.file)));
    }
    BatchScan scan = ScanView.ofTasks(scan(), tasks);
    PartitionSpec none = PartitionSpec.unpartitioned();
    return relation(spark, name, FileConstants.with(keys), scan, none);
  }

  private Dataset relation(
      SparkSession spark, String name, Schema schema, BatchScan scan, PartitionSpec spec) {
    return TableView.relation(spark, table, name, schema, snapshot, scan, spec);
  }

  /** How many delete files of a kind reach a data file of the unit. */
  public int reaching(int kind, int unit) {
    return files(kind, unit).size();
  }

  private List files(int kind, int unit) {
    List files = new ArrayList();
    for (EqualityFiles.Entry e : deletes.entries) {
      if (e.kind != kind) continue;
      if (unit == EVERY_FILE || (e.reaches && in(unit, e.node))) files.add(e);
    }
    return files;
  }

  // ---- what a commit needs --------------------------------------------------------------------

  /** The equality delete files that are of no more use when a unit is done. */
  public List finished(int unit, boolean dangling) {
    List files = new ArrayList();
    for (EqualityFiles.Entry e : deletes.entries) {
      if (e.reaches ? in(unit, e.node) : dangling) files.add(e.file);
    }
    return files;
  }

  /** What a unit's conversion removes and reads: delete files, their records, data files, rows. */
  public long[] extent(int unit, boolean dangling) {
    long[] extent = new long[4];
    for (EqualityFiles.Entry e : deletes.entries) {
      if (e.reaches ? !in(unit, e.node) : !dangling) continue;
      extent[0]++;
      extent[1] += e.file.recordCount();
    }
    for (int i = 0; i < reached.size(); i++) {
      ReachedFile r = (ReachedFile) reached.get(i);
      if (!isRead(r, unit)) continue;
      extent[2]++;
      extent[3] += r.file.recordCount();
    }
    return extent;
  }

  /** The data file with this path. */
  public DataFile reachedFile(String path) {
    return ((ReachedFile) reachedByPath.get(path)).file;
  }

  /** The deletes of a data file that a new deletion vector with all their positions replaces. */
  public List replaced(String path) {
    List files = new ArrayList();
    DeleteFile[] others = ((ReachedFile) reachedByPath.get(path)).others;
    for (int i = 0; i < others.length; i++) {
      if (ContentFileUtil.isFileScoped(others[i])) files.add(others[i]);
    }
    return files;
  }

  public Snapshot snapshot() {
    return snapshot;
  }

  public int formatVersion() {
    return TableUtil.formatVersion(table);
  }

  public PartitionSpec spec(int id) {
    return (PartitionSpec) table.specs().get(Integer.valueOf(id));
  }
}
