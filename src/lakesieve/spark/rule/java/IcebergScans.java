package lakesieve;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.BaseFileScanTask;
import org.apache.iceberg.BaseMetadataTable;
import org.apache.iceberg.ContentFile;
import org.apache.iceberg.ContentScanTask;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionSpecParser;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SchemaParser;
import org.apache.iceberg.Table;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.expressions.ResidualEvaluator;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.ReplaceData;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;

/**
 * Iceberg batch scans: their planned tasks are filtered by data file and handed back.
 *
 * <p>The scans' classes and most of their methods are private to Iceberg; {@link #check} lists them.
 */
public final class IcebergScans extends ScanAdapter {
  private static final String PACKAGE = "org.apache.iceberg.spark.source.";
  private static final String COPY_ON_WRITE = PACKAGE + "SparkCopyOnWriteScan";
  // reads of what was appended since a snapshot, from Iceberg 1.12 on
  private static final String APPENDED = PACKAGE + "SparkIncrementalAppendScan";
  private static final String BATCH = PACKAGE + "SparkBatchQueryScan";
  private static final List<String> SCANS = Arrays.asList(BATCH, COPY_ON_WRITE, APPENDED);

  // private members of the scans
  private static final String TABLE = "table";
  private static final String TASKS = "tasks";
  private static final String RESET_TASKS = "resetTasks";
  private static final String PROJECTION = "${projection}";
  private static final String SNAPSHOT = "snapshotId";
  // runtimeFilters until 1.10, runtimeFilterExpressions since
  private static final String RUNTIME_FILTERS = "runtimeFilter";

  // scans that were planned here, over some of their manifests
  private final IdentitySet planned = new IdentitySet();

  @Override
  public void check() throws Exception {
    ManifestScans.check();
    for (String name : SCANS) {
      Class<?> type;
      try {
        type = Class.forName(name, false, Table.class.getClassLoader());
      } catch (ClassNotFoundException e) {
        if (name.equals(APPENDED)) continue;
        throw e;
      }
      for (String method : Arrays.asList(TABLE, TASKS, PROJECTION)) {
        PrivateMembers.requireMethod(type, method);
      }
      PrivateMembers.requireMethod(type, RESET_TASKS, List.class);
      if (!name.equals(APPENDED)) PrivateMembers.requireMethod(type, SNAPSHOT);
      if (!name.equals(COPY_ON_WRITE)) PrivateMembers.requireFieldLike(type, RUNTIME_FILTERS);
    }
  }

  @Override
  public Object scan(LogicalPlan leaf) {
    if (!(leaf instanceof DataSourceV2ScanRelation)) return null;
    Object scan = ((DataSourceV2ScanRelation) leaf).scan();
    String name = scan.getClass().getName();
    if (!SCANS.contains(name)) return null;
    try {
      return PrivateMembers.get(scan, TABLE) instanceof BaseMetadataTable ? null : scan;
    } catch (Exception e) {
      return null;
    }
  }

  @Override
  public boolean inPlace() {
    return true;
  }

  /**
   * Those of the command's condition when the leaf is a copy-on-write scan, which stands below filters
   * that pick the rows to keep. The write replaces the files that the scan has when it commits, and
   * every row of these is read.
   */
  @Override
  public Map<String, Object> changedRows(LogicalPlan plan, LogicalPlan leaf) {
    if (!isCopyOnWrite(((DataSourceV2ScanRelation) leaf).scan())) return null;
    ReplaceData command = command(plan, ((DataSourceV2ScanRelation) leaf).relation().table());
    if (command == null) return CatalystJson.unknown("copy-on-write scan without its command");
    LogicalPlan target = (LogicalPlan) command.table();
    Map<ExprId, String> attributes = CatalystJson.attributes(target.output().iterator());
    return CatalystJson.convert(command.condition(), attributes);
  }

  private static ReplaceData command(LogicalPlan plan, Object table) {
    if (plan instanceof ReplaceData) {
      Object changed = ((ReplaceData) plan).table();
      if (!(changed instanceof DataSourceV2Relation)) return null;
      return ((DataSourceV2Relation) changed).table() == table ? (ReplaceData) plan : null;
    }
    scala.collection.Iterator children = plan.children().iterator();
    while (children.hasNext()) {
      ReplaceData found = command((LogicalPlan) children.next(), table);
      if (found != null) return found;
    }
    return null;
  }

  @Override
  public Map<String, Object> describe(LogicalPlan leaf) throws Exception {
    Object scan = scan(leaf);
    Table table = (Table) PrivateMembers.get(scan, TABLE);
    Map<String, Object> m = new LinkedHashMap<>();
    m.put("format", "iceberg");
    m.put("table", table.name());
    m.put("location", table.location());
    m.put("uuid", String.valueOf(table.uuid()));
    boolean appended = scan.getClass().getName().equals(APPENDED);
    m.put("snapshot", appended ? null : String.valueOf(PrivateMembers.get(scan, SNAPSHOT)));
    m.put("file_io", IcebergAccess.fileIo(table));
    Schema projection = (Schema) PrivateMembers.get(scan, PROJECTION);
    m.put("schema", IcebergFields.document(table, projection));
    return m;
  }

  @Override
  public int fileCount(LogicalPlan leaf) throws Exception {
    Object scan = scan(leaf);
    return isOpen(scan) ? ManifestScans.files(scan) : tasks(scan).size();
  }

  @Override
  public int totalFiles(LogicalPlan leaf, List<Expression> conditions) throws Exception {
    Object scan = scan(leaf);
    return this.planned.contains(scan) ? ManifestScans.files(scan) : fileCount(leaf);
  }

  @Override
  public boolean isOpen(LogicalPlan leaf) {
    return isOpen(scan(leaf));
  }

  @Override
  public int prune(
      LogicalPlan leaf,
      List<Expression> conditions,
      KeepSet keep,
      Map<LogicalPlan, LogicalPlan> replaced)
      throws Exception {
    Object scan = scan(leaf);
    boolean open = isOpen(scan);
    List<Object> tasks = open ? ManifestScans.planned(scan, keep) : tasks(scan);
    if (open) this.planned.add(scan);
    List<Object> kept = new ArrayList<>();
    int uncovered = 0;
    for (Object task : tasks) {
      String path = FilePaths.normal(file(task).location());
      if (!keep.keeps(path)) continue;
      if (!keep.covers(path)) uncovered++;
      kept.add(task);
    }
    if (kept.size() == tasks.size() && !open) return uncovered;
    if (!isCopyOnWrite(scan)) {
      String files = kept.size() + " of " + totalFiles(leaf, conditions) + " files";
      mark(scan, keep.mark() == null ? files : files + ", " + keep.mark());
    }
    reset(scan, kept);
    return uncovered;
  }

  @Override
  public String option(LogicalPlan leaf, String name) {
    return ((DataSourceV2ScanRelation) leaf).relation().options().get(name);
  }

  @Override
  public void readRaw(
      LogicalPlan leaf, int stride, PathSet files, Map<LogicalPlan, LogicalPlan> replaced)
      throws Exception {
    Object scan = scan(leaf);
    List<Object> tasks = tasks(scan);
    ResidualEvaluator all = ResidualEvaluator.unpartitioned(Expressions.alwaysTrue());
    Map<Integer, String> specs = new HashMap<>();
    String schema = null;
    List<Object> raw = new ArrayList<>();
    int selected = 0;
    for (Object each : tasks) {
      FileScanTask task = (FileScanTask) each;
      if (files != null && !files.contains(FilePaths.normal(file(task).location()))) continue;
      if (selected++ % stride != 0) continue;
      if (task.deletes().isEmpty()) {
        raw.add(task);
        continue;
      }
      if (schema == null) schema = SchemaParser.toJson(task.schema());
      int id = task.spec().specId();
      if (!specs.containsKey(id)) specs.put(id, PartitionSpecParser.toJson(task.spec()));
      raw.add(
          new BaseFileScanTask(
              (DataFile) file(task), new DeleteFile[0], schema, (String) specs.get(id), all));
    }
    reset(scan, raw);
  }

  private static ContentFile file(Object task) {
    return (ContentFile) ((ContentScanTask) task).file();
  }

  private static List<Object> tasks(Object scan) throws Exception {
    return (List<Object>) PrivateMembers.get(scan, TASKS);
  }

  private static void reset(Object scan, List<Object> tasks) throws Exception {
    PrivateMembers.call(scan, scan.getClass(), RESET_TASKS, new Class<?>[] {List.class}, tasks);
  }

  private static boolean isOpen(Object scan) {
    return scan.getClass().getName().equals(BATCH) && ManifestScans.isOpen(scan);
  }

  private static boolean isCopyOnWrite(Object scan) {
    return scan.getClass().getName().equals(COPY_ON_WRITE);
  }

  /**
   * Make a scan unequal to those without the mark, which EXPLAIN shows: filters that it was given at
   * run time count.
   */
  private static void mark(Object scan, String mark) throws Exception {
    Field filters = PrivateMembers.requireFieldLike(scan.getClass(), RUNTIME_FILTERS);
    ((List<Object>) filters.get(scan)).add(Expressions.equal("lakesieve", mark));
  }
}
