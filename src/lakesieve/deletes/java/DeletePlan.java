package lakesieve.deletes;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.BatchScan;
import org.apache.iceberg.ContentFile;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.ManifestFiles;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SchemaParser;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.StaticTableOperations;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableUtil;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.expressions.ResidualEvaluator;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.util.ContentFileUtil;
import org.apache.iceberg.util.PartitionMap;
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
  private static final int EVERYWHERE = -1;
  private static final int LINES = 10000;
  private static final String HIDDEN = "__lakesieve_column_";

  private final BaseTable table;
  private final String branch;
  private final Long pinned;
  private final Snapshot snapshot;
  private final Schema schema;
  private final Schema full;
  private final List given; // the tasks of a query's scan
  private final PartitionMap groups;
  private final List equality = new ArrayList(); // EqualityFile, one a delete file
  private final Map byLocation = new HashMap();
  private final List reached = new ArrayList(); // ReachedFile, one a data file
  private final Map reachedByPath = new HashMap();
  private final Map constants = new HashMap(); // of the reached data files, by path
  private final List kinds = new ArrayList(); // Kind
  private final Map units = new LinkedHashMap(); // root node to number
  private int nodes = 0;
  private int[] links = new int[1024];
  private long dataFiles = 0;
  private long pairs = 0;
  private long largest = 0;
  private long largestBytes = 0;
  private long positionFiles = 0;
  private long vectors = 0;
  private long marked = 0; // data files with position deletes or a deletion vector

  private static final class EqualityFile {
    DeleteFile file;
    int kind;
    int group;
    int node;
    boolean reaches;
  }

  private static final class ReachedFile {
    FileScanTask task; // without its equality deletes, for no filter
    DataFile file;
    DeleteFile[] others;
    int group;
    BitSet kinds = new BitSet(); // of the deletes that may delete a row of it
  }

  private static final class Kind {
    TreeSet ids;
    boolean everywhere;
    long files = 0;
    long records = 0;
    long reaching = 0;
  }

  /**
   * Plan one version.
   *
   * @param asked the name of a branch or tag, any other text if a snapshot is given, or null
   * @param snapshotId the snapshot that {@code asked} means, or null for the current one
   */
  public DeletePlan(Table loaded, String asked, String snapshotId) throws Exception {
    if (!(loaded instanceof HasTableOperations)) {
      throw new UnsupportedOperationException("metadata table");
    }
    this.table = frozen(loaded);
    SnapshotRef ref = asked == null ? null : (SnapshotRef) table.refs().get(asked);
    this.branch = ref != null && ref.isBranch() ? asked : null;
    if (asked == null || branch != null) {
      this.pinned = null;
      this.snapshot = branch == null ? table.currentSnapshot() : table.snapshot(branch);
      this.schema = table.schema();
    } else {
      this.pinned = Long.valueOf(snapshotId);
      this.snapshot = table.snapshot(pinned.longValue());
      this.schema = SnapshotUtil.schemaFor(table, pinned.longValue());
    }
    this.given = null;
    this.groups = PartitionMap.create(table.specs());
    listDeletes();
    pair(scan().planFiles(), ResidualEvaluator.unpartitioned(Expressions.alwaysTrue()));
    this.full = withDroppedKeys(schema);
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
    this.groups = PartitionMap.create(table.specs());
    pair(CloseableIterable.withNoopClose(given), null);
    this.full = withDroppedKeys(withKeys((Schema) scan.get("projection")));
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

  private void listDeletes() throws Exception {
    if (snapshot == null) return;
    for (Iterator m = snapshot.deleteManifests(table.io()).iterator(); m.hasNext(); ) {
      CloseableIterable files =
          ManifestFiles.readDeleteManifest((ManifestFile) m.next(), table.io(), table.specs());
      try {
        for (Iterator it = files.iterator(); it.hasNext(); ) {
          DeleteFile file = (DeleteFile) it.next();
          if (file.content() == FileContent.EQUALITY_DELETES) {
            add((DeleteFile) file.copyWithoutStats());
          } else if (ContentFileUtil.isDV(file)) {
            vectors++;
          } else {
            positionFiles++;
          }
        }
      } finally {
        files.close();
      }
    }
  }

  private void add(DeleteFile file) {
    if (byLocation.containsKey(file.location())) return;
    EqualityFile e = new EqualityFile();
    e.file = file;
    boolean everywhere = ((PartitionSpec) table.specs().get(new Integer(file.specId()))).isUnpartitioned();
    e.group = everywhere ? EVERYWHERE : group(file);
    e.node = newNode();
    e.kind = kind(new TreeSet(file.equalityFieldIds()), everywhere);
    Kind kind = (Kind) kinds.get(e.kind);
    kind.files++;
    kind.records += file.recordCount();
    equality.add(e);
    byLocation.put(file.location(), e);
  }

  private int kind(TreeSet ids, boolean everywhere) {
    for (int i = 0; i < kinds.size(); i++) {
      Kind k = (Kind) kinds.get(i);
      if (k.everywhere == everywhere && k.ids.equals(ids)) return i;
    }
    Kind k = new Kind();
    k.ids = ids;
    k.everywhere = everywhere;
    kinds.add(k);
    return kinds.size() - 1;
  }

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
    List deletes = task.deletes();
    ReachedFile r = new ReachedFile();
    r.file = file;
    r.others = others;
    r.group = group(file);
    Object[] known = FileConstants.of(reached.size(), r.group, file);
    r.task = made.task(task, others, residual, known);
    constants.put(file.location(), known);
    reachedByPath.put(file.location(), r);
    reached.add(r);
    long records = 0;
    long bytes = 0;
    for (int i = 0; i < deletes.size(); i++) {
      DeleteFile delete = (DeleteFile) deletes.get(i);
      if (delete.content() != FileContent.EQUALITY_DELETES) continue;
      if (!byLocation.containsKey(delete.location())) add(delete);
      EqualityFile e = (EqualityFile) byLocation.get(delete.location());
      if (!e.reaches) ((Kind) kinds.get(e.kind)).reaching++;
      e.reaches = true;
      r.kinds.set(e.kind);
      pairs++;
      records += delete.recordCount();
      bytes += DeleteMemory.of(delete, schema);
      join(r.group, e.node);
    }
    largest = Math.max(largest, records);
    largestBytes = Math.max(largestBytes, bytes);
  }

  private int group(ContentFile file) {
    Integer known = (Integer) groups.get(file.specId(), file.partition());
    if (known == null) {
      known = new Integer(newNode());
      groups.put(file.specId(), file.partition(), known);
    }
    return known.intValue();
  }

  private int newNode() {
    if (nodes == links.length) {
      int[] more = new int[2 * nodes];
      System.arraycopy(links, 0, more, 0, nodes);
      links = more;
    }
    links[nodes] = nodes;
    return nodes++;
  }

  private int root(int node) {
    while (links[node] != node) {
      links[node] = links[links[node]];
      node = links[node];
    }
    return node;
  }

  private void join(int a, int b) {
    links[root(a)] = root(b);
  }

  private void number() {
    for (int i = 0; i < reached.size(); i++) {
      Integer at = new Integer(root(((ReachedFile) reached.get(i)).group));
      if (!units.containsKey(at)) units.put(at, new Integer(units.size()));
    }
  }

  private boolean in(int unit, int node) {
    Integer number = (Integer) units.get(new Integer(root(node)));
    return number != null && (unit == ALL || number.intValue() == unit);
  }

  private boolean isRead(ReachedFile r, int unit) {
    return !r.kinds.isEmpty() && in(unit, r.group);
  }

  /**
   * Take data files out that hold no key of a kind's deletes.
   *
   * @param free a bit for each data file that the deletes may reach, in the order of those
   */
  public void narrow(int kind, byte[] free) {
    BitSet out = BitSet.valueOf(free);
    int at = 0;
    for (int i = 0; i < reached.size(); i++) {
      ReachedFile r = (ReachedFile) reached.get(i);
      if (r.kinds.get(kind) && out.get(at++)) r.kinds.clear(kind);
    }
  }

  /** The data files that a kind's deletes may reach, for {@link #paths}. */
  public Iterator reachedBy(int kind) {
    List files = new ArrayList();
    for (int i = 0; i < reached.size(); i++) {
      ReachedFile r = (ReachedFile) reached.get(i);
      if (r.kinds.get(kind)) files.add(r.file);
    }
    return files.iterator();
  }

  /** Paths of the next data files, one a line; nothing behind the last. */
  public String paths(Iterator files) {
    StringBuilder lines = new StringBuilder();
    for (int i = 0; i < LINES && files.hasNext(); i++) {
      String path = ((DataFile) files.next()).location();
      if (path.indexOf('\n') >= 0) throw new IllegalArgumentException("line break in " + path);
      if (i > 0) lines.append('\n');
      lines.append(path);
    }
    return lines.toString();
  }

  /** The version's schema as JSON. */
  public String schemaJson() {
    return SchemaParser.toJson(schema);
  }

  // ---- columns --------------------------------------------------------------------------------

  /** The version's schema, with the equality columns that it has no more. */
  private Schema withDroppedKeys(Schema schema) {
    List columns = new ArrayList(schema.columns());
    Set seen = new HashSet();
    for (int i = 0; i < kinds.size(); i++) {
      for (Iterator it = ((Kind) kinds.get(i)).ids.iterator(); it.hasNext(); ) {
        Integer id = (Integer) it.next();
        if (schema.findField(id.intValue()) != null || !seen.add(id)) continue;
        columns.add(dropped(id.intValue()));
      }
    }
    return new Schema(schema.schemaId(), columns);
  }

  /** The data columns of a projection, with the equality columns that the version has beside. */
  private Schema withKeys(Schema projection) {
    List columns = new ArrayList();
    for (int i = 0; i < projection.columns().size(); i++) {
      Types.NestedField field = (Types.NestedField) projection.columns().get(i);
      if (!MetadataColumns.isMetadataColumn(field.fieldId())) columns.add(field);
    }
    Set seen = new HashSet();
    for (int i = 0; i < kinds.size(); i++) {
      for (Iterator it = ((Kind) kinds.get(i)).ids.iterator(); it.hasNext(); ) {
        Integer id = (Integer) it.next();
        if (projection.findField(id.intValue()) != null || !seen.add(id)) continue;
        Types.NestedField field = schema.asStruct().field(id.intValue());
        if (field != null) {
          columns.add(Types.NestedField.from(field).withName(HIDDEN + id).build());
        } else if (schema.findField(id.intValue()) != null) {
          throw new UnsupportedOperationException("key inside a struct");
        }
      }
    }
    return new Schema(schema.schemaId(), columns);
  }

  private Types.NestedField dropped(int id) {
    Types.NestedField newest = null;
    int newestSchema = -1;
    for (Iterator it = table.schemas().values().iterator(); it.hasNext(); ) {
      Schema past = (Schema) it.next();
      Types.NestedField field = past.asStruct().field(id);
      if (field != null && past.schemaId() > newestSchema) {
        newest = field;
        newestSchema = past.schemaId();
      }
    }
    if (newest == null) throw new UnsupportedOperationException("field " + id);
    return Types.NestedField.optional(id, HIDDEN + id, newest.type());
  }

  /** Names from the top-level column down to a field. */
  private List path(int id) {
    Map above = TypeUtil.indexParents(full.asStruct());
    List names = new ArrayList();
    for (Integer at = new Integer(id); at != null; at = (Integer) above.get(at)) {
      names.add(0, full.findField(at.intValue()).name());
    }
    return names;
  }

  // ---- what Python asks -----------------------------------------------------------------------

  /** Counts and kinds, for JSON. */
  public Map summary() {
    Map m = new LinkedHashMap();
    m.put("snapshot", snapshot == null ? null : String.valueOf(snapshot.snapshotId()));
    m.put("format_version", new Integer(TableUtil.formatVersion(table)));
    m.put("data_files", new Long(dataFiles));
    m.put("reached_files", new Integer(reached.size()));
    m.put("pairs", new Long(pairs));
    m.put("largest", new Long(largest));
    m.put("largest_bytes", new Long(largestBytes));
    m.put("position_files", new Long(positionFiles));
    m.put("vectors", new Long(vectors));
    m.put("marked_files", new Long(marked));
    m.put("units", new Integer(units.size()));
    m.put("columns", names(schema));
    long bytes = 0;
    long rows = 0;
    int dangling = 0;
    for (int i = 0; i < equality.size(); i++) {
      EqualityFile e = (EqualityFile) equality.get(i);
      bytes += e.file.fileSizeInBytes();
      if (!e.reaches) dangling++;
    }
    for (int i = 0; i < reached.size(); i++) {
      rows += ((ReachedFile) reached.get(i)).file.recordCount();
    }
    m.put("bytes", new Long(bytes));
    m.put("reached_rows", new Long(rows));
    m.put("dangling", new Integer(dangling));
    List told = new ArrayList();
    for (int i = 0; i < kinds.size(); i++) told.add(told((Kind) kinds.get(i)));
    m.put("kinds", told);
    return m;
  }

  private Map told(Kind kind) {
    Map m = new LinkedHashMap();
    List columns = new ArrayList();
    for (Iterator it = kind.ids.iterator(); it.hasNext(); ) {
      int id = ((Integer) it.next()).intValue();
      Map column = new LinkedHashMap();
      column.put("path", path(id));
      column.put("id", new Integer(id));
      column.put("type", full.findType(id).toString());
      columns.add(column);
    }
    m.put("columns", columns);
    m.put("everywhere", Boolean.valueOf(kind.everywhere));
    m.put("files", new Long(kind.files));
    m.put("records", new Long(kind.records));
    m.put("reaching", new Long(kind.reaching));
    return m;
  }

  private static List names(Schema schema) {
    List names = new ArrayList();
    for (int i = 0; i < schema.columns().size(); i++) {
      names.add(((Types.NestedField) schema.columns().get(i)).name());
    }
    return names;
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
      rows.add(RowFactory.create(new Object[] {new Integer(i), r.file.location()}));
    }
    return spark.createDataFrame(rows, type);
  }

  /** The rows of delete files of a kind, read as data, with the columns of the kind. */
  public Dataset deletes(SparkSession spark, String name, int kind, int unit) throws Exception {
    Schema keys = keys((Kind) kinds.get(kind));
    FileConstants made = new FileConstants();
    List tasks = new ArrayList();
    List files = files(kind, unit);
    for (int i = 0; i < files.size(); i++) {
      EqualityFile e = (EqualityFile) files.get(i);
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

  private Schema keys(Kind kind) {
    return new Schema(TypeUtil.select(full, kind.ids).columns());
  }

  /** How many delete files of a kind reach a data file of the unit. */
  public int reaching(int kind, int unit) {
    return files(kind, unit).size();
  }

  private List files(int kind, int unit) {
    List files = new ArrayList();
    for (int i = 0; i < equality.size(); i++) {
      EqualityFile e = (EqualityFile) equality.get(i);
      if (e.kind != kind) continue;
      if (unit == EVERY_FILE || (e.reaches && in(unit, e.node))) files.add(e);
    }
    return files;
  }

  // ---- what a commit needs --------------------------------------------------------------------

  /** The equality delete files that are of no more use when a unit is done. */
  public List finished(int unit, boolean dangling) {
    List files = new ArrayList();
    for (int i = 0; i < equality.size(); i++) {
      EqualityFile e = (EqualityFile) equality.get(i);
      if (e.reaches ? in(unit, e.node) : dangling) files.add(e.file);
    }
    return files;
  }

  /** What a unit's conversion removes and reads: delete files, their records, data files, rows. */
  public long[] extent(int unit, boolean dangling) {
    long[] extent = new long[4];
    for (int i = 0; i < equality.size(); i++) {
      EqualityFile e = (EqualityFile) equality.get(i);
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
    return (PartitionSpec) table.specs().get(new Integer(id));
  }
}
