package lakesieve;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
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
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.ReplaceData;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;

/**
 * Iceberg batch scans: their planned tasks are filtered by data file and handed back.
 *
 * <p>Private names used: SparkPartitioningAwareScan.tasks, resetTasks; SparkScan.table, projection;
 * SparkBatchQueryScan.snapshotId, runtimeFilters (of its parent; runtimeFilterExpressions in 1.11).
 */
public final class IcebergScans implements ScanAdapter {
  private static final String PACKAGE = "org.apache.iceberg.spark.source.";
  private static final String COPY_ON_WRITE = PACKAGE + "SparkCopyOnWriteScan";
  // what was appended since a snapshot has a class of its own since 1.12
  private static final String APPENDED = PACKAGE + "SparkIncrementalAppendScan";
  private static final List BATCH =
      Arrays.asList(new Object[] {PACKAGE + "SparkBatchQueryScan", COPY_ON_WRITE, APPENDED});

  public Object scan(LogicalPlan leaf) {
    if (!(leaf instanceof DataSourceV2ScanRelation)) return null;
    Object scan = ((DataSourceV2ScanRelation) leaf).scan();
    String name = scan.getClass().getName();
    if (!BATCH.contains(name)) return null;
    try {
      return call(scan, "table") instanceof BaseMetadataTable ? null : scan;
    } catch (Exception e) {
      return null;
    }
  }

  public boolean inPlace() {
    return true;
  }

  public String refusal(LogicalPlan leaf) {
    return null;
  }

  /**
   * Those of the command's own condition when the leaf is a copy-on-write scan, which stands below
   * filters that pick the rows to keep. The write replaces the files that the scan has when it
   * commits, and every row of these is read.
   */
  public Map changedRows(LogicalPlan plan, LogicalPlan leaf) {
    if (!isCopyOnWrite(((DataSourceV2ScanRelation) leaf).scan())) return null;
    ReplaceData command = command(plan, ((DataSourceV2ScanRelation) leaf).relation().table());
    if (command == null) return CatalystJson.unknown("copy-on-write scan without its command");
    Map attributes = CatalystJson.attributes(((LogicalPlan) command.table()).output().iterator());
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

  public Map describe(LogicalPlan leaf) throws Exception {
    Object scan = scan(leaf);
    Table table = (Table) call(scan, "table");
    Map m = new LinkedHashMap();
    m.put("format", "iceberg");
    m.put("table", table.name());
    m.put("location", table.location());
    m.put("uuid", String.valueOf(table.uuid()));
    boolean appended = scan.getClass().getName().equals(APPENDED);
    m.put("snapshot", appended ? null : String.valueOf(call(scan, "snapshotId")));
    m.put("file_io", IcebergAccess.fileIo(table));
    m.put("schema", IcebergFields.document(table, (Schema) call(scan, "projection")));
    return m;
  }

  public int fileCount(LogicalPlan leaf) throws Exception {
    return ((List) call(scan(leaf), "tasks")).size();
  }

  public int prune(LogicalPlan leaf, KeepSet keep, Map replaced) throws Exception {
    Object scan = scan(leaf);
    List tasks = (List) call(scan, "tasks");
    List kept = new ArrayList();
    int uncovered = 0;
    for (Iterator it = tasks.iterator(); it.hasNext(); ) {
      Object task = it.next();
      String path = FilePaths.normal(file(task).location());
      if (!keep.keeps(path)) continue;
      if (!keep.covers(path)) uncovered++;
      kept.add(task);
    }
    if (kept.size() == tasks.size()) return uncovered;
    if (keep.mark() != null && !isCopyOnWrite(scan)) mark(scan, keep.mark());
    reset(scan, kept);
    return uncovered;
  }

  public boolean isDeferred(LogicalPlan leaf) {
    return false;
  }

  public LogicalPlan restored(LogicalPlan plan, List leaves) {
    return plan;
  }

  public String option(LogicalPlan leaf, String name) {
    return ((DataSourceV2ScanRelation) leaf).relation().options().get(name);
  }

  public void readRaw(LogicalPlan leaf, int stride, PathSet files, Map replaced) throws Exception {
    Object scan = scan(leaf);
    List tasks = (List) call(scan, "tasks");
    ResidualEvaluator all = ResidualEvaluator.unpartitioned(Expressions.alwaysTrue());
    Map specs = new HashMap();
    String schema = null;
    List raw = new ArrayList();
    int selected = 0;
    for (int i = 0; i < tasks.size(); i++) {
      FileScanTask task = (FileScanTask) tasks.get(i);
      if (files != null && !files.contains(FilePaths.normal(file(task).location()))) continue;
      if (selected++ % stride != 0) continue;
      if (task.deletes().isEmpty()) {
        raw.add(task);
        continue;
      }
      if (schema == null) schema = SchemaParser.toJson(task.schema());
      Integer id = Integer.valueOf(task.spec().specId());
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

  private static void reset(Object scan, List tasks) throws Exception {
    find(scan.getClass(), "resetTasks", 1).invoke(scan, new Object[] {tasks});
  }

  private static boolean isCopyOnWrite(Object scan) {
    return scan.getClass().getName().equals(COPY_ON_WRITE);
  }

  /** Make a scan unequal to those without the mark: filters that it was given at run time count. */
  private static void mark(Object scan, String mark) throws Exception {
    for (Class c = scan.getClass(); c != null; c = c.getSuperclass()) {
      Field[] fields = c.getDeclaredFields();
      for (int i = 0; i < fields.length; i++) {
        if (!fields[i].getName().startsWith("runtimeFilter")) continue;
        fields[i].setAccessible(true);
        ((List) fields[i].get(scan)).add(Expressions.equal("lakesieve", mark));
        return;
      }
    }
    throw new NoSuchFieldException("runtime filters of " + scan.getClass().getName());
  }

  /** The result of a method without arguments, whatever its access. */
  public static Object call(Object target, String name) throws Exception {
    return find(target.getClass(), name, 0).invoke(target, new Object[0]);
  }

  private static Method find(Class type, String name, int parameters) throws NoSuchMethodException {
    for (Class c = type; c != null; c = c.getSuperclass()) {
      Method[] methods = c.getDeclaredMethods();
      for (int i = 0; i < methods.length; i++) {
        Method m = methods[i];
        if (m.getName().equals(name) && m.getParameterCount() == parameters && !m.isBridge()) {
          m.setAccessible(true);
          return m;
        }
      }
    }
    throw new NoSuchMethodException(type.getName() + "." + name);
  }
}
