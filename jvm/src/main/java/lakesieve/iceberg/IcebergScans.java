package lakesieve.iceberg;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import lakesieve.files.FilePaths;
import lakesieve.files.FileRows;
import lakesieve.files.IdentitySet;
import lakesieve.files.KeepSet;
import lakesieve.files.PathSet;
import lakesieve.predicate.Conditions;
import lakesieve.predicate.LeafColumns;
import lakesieve.rule.PruningRule;
import lakesieve.rule.ScanAdapter;
import lakesieve.spark.Scala;
import org.apache.iceberg.BaseFileScanTask;
import org.apache.iceberg.BaseMetadataTable;
import org.apache.iceberg.ContentScanTask;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionScanTask;
import org.apache.iceberg.PartitionSpecParser;
import org.apache.iceberg.SchemaParser;
import org.apache.iceberg.Table;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.expressions.ResidualEvaluator;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.ReplaceData;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;

/** Iceberg batch scans: their planned tasks are filtered by data file and handed back. */
public final class IcebergScans extends ScanAdapter {
  // scans that were planned here from some of their manifests
  private final IdentitySet planned = new IdentitySet();
  private final ScanRows rows = new ScanRows();

  @Override
  public void check() throws Exception {
    SparkScans.check();
    ManifestScans.check();
    TaskRows.check();
  }

  @Override
  public void install(SparkSession session, PruningRule rule) {
    IcebergListing.install(session, rule, this);
  }

  @Override
  public Scan scan(LogicalPlan leaf) {
    if (!(leaf instanceof DataSourceV2ScanRelation relation)) return null;
    Scan scan = relation.scan();
    if (!SparkScans.isKnown(scan)) return null;
    try {
      return SparkScans.table(scan) instanceof BaseMetadataTable ? null : scan;
    } catch (Exception e) {
      return null;
    }
  }

  @Override
  public boolean inPlace() {
    return true;
  }

  /**
   * The condition of the command if the leaf is a copy-on-write scan. Such a scan is below filters
   * that select the rows to keep. When the write commits, it replaces the scan's files, and every
   * row of these files is read.
   */
  @Override
  public Map<String, Object> changedRows(LogicalPlan plan, LogicalPlan leaf) {
    var relation = (DataSourceV2ScanRelation) leaf;
    if (!SparkScans.isCopyOnWrite(relation.scan())) return null;
    ReplaceData command = command(plan, relation.relation().table());
    if (command == null) return Conditions.unknown("copy-on-write scan without its command");
    var target = (LogicalPlan) command.table();
    return Conditions.of(command.condition(), LeafColumns.of(target));
  }

  private static ReplaceData command(LogicalPlan plan, Object table) {
    if (plan instanceof ReplaceData command) {
      boolean isOfTable =
          command.table() instanceof DataSourceV2Relation changed && changed.table() == table;
      return isOfTable ? command : null;
    }
    for (LogicalPlan child : Scala.list(plan.children())) {
      ReplaceData found = command(child, table);
      if (found != null) return found;
    }
    return null;
  }

  @Override
  public Map<String, Object> describe(LogicalPlan leaf) throws Exception {
    Scan scan = scan(leaf);
    Table table = SparkScans.table(scan);
    boolean appended = SparkScans.isAppended(scan);
    Map<String, Object> description = new LinkedHashMap<>();
    description.put("format", "iceberg");
    description.put("table", table.name());
    description.put("location", table.location());
    description.put("uuid", String.valueOf(table.uuid()));
    description.put("snapshot", appended ? null : String.valueOf(SparkScans.snapshotId(scan)));
    description.put("file_io", IcebergAccess.fileIo(table));
    description.put("schema", IcebergFields.document(table, SparkScans.projection(scan)));
    return description;
  }

  @Override
  public int fileCount(LogicalPlan leaf) throws Exception {
    Scan scan = scan(leaf);
    return isOpen(scan) ? ManifestScans.files(scan) : SparkScans.tasks(scan).size();
  }

  @Override
  public int totalFiles(LogicalPlan leaf, List<Expression> conditions) throws Exception {
    Scan scan = scan(leaf);
    return planned.contains(scan) ? ManifestScans.files(scan) : fileCount(leaf);
  }

  @Override
  public List<String> completeFiles(LogicalPlan leaf) throws Exception {
    Scan scan = scan(leaf);
    List<String> paths = new ArrayList<>();
    for (PartitionScanTask each : SparkScans.tasks(scan)) {
      if (each instanceof FileScanTask task && task.deletes().isEmpty()) paths.add(path(task));
    }
    return paths;
  }

  @Override
  public boolean isOpen(LogicalPlan leaf) {
    return isOpen(scan(leaf));
  }

  private static boolean isOpen(Scan scan) {
    return SparkScans.isBatch(scan) && ManifestScans.isOpen(scan);
  }

  @Override
  public int prune(
      LogicalPlan leaf,
      List<Expression> conditions,
      KeepSet keep,
      Map<LogicalPlan, LogicalPlan> replaced)
      throws Exception {
    Scan scan = scan(leaf);
    boolean open = isOpen(scan);
    List<? extends PartitionScanTask> tasks =
        open ? ManifestScans.planned(scan, keep) : SparkScans.tasks(scan);
    if (open) planned.add(scan);
    List<PartitionScanTask> kept = new ArrayList<>();
    int uncovered = 0;
    for (PartitionScanTask task : tasks) {
      String path = path(task);
      if (!keep.keeps(path)) continue;
      if (!keep.covers(path)) uncovered++;
      kept.add(task);
    }
    FileRows restricted = rows.restrict(scan, kept, keep);
    if (kept.size() == tasks.size() && !open && restricted == null) return uncovered;
    if (!SparkScans.isCopyOnWrite(scan)) {
      String files = kept.size() + " of " + totalFiles(leaf, conditions) + " files";
      if (restricted != null) {
        files += ", " + restricted.count() + " of " + restricted.records() + " rows";
      }
      SparkScans.mark(scan, keep.mark() == null ? files : files + ", " + keep.mark());
    }
    SparkScans.resetTasks(scan, kept);
    return uncovered;
  }

  @Override
  public FileRows rows(LogicalPlan leaf) {
    return rows.of(scan(leaf));
  }

  @Override
  public List<String> wholeFiles(LogicalPlan leaf) {
    return rows.problems(scan(leaf));
  }

  @Override
  public List<String> wholeRowGroups(LogicalPlan leaf) {
    return rows.byGroup(scan(leaf));
  }

  @Override
  public String option(LogicalPlan leaf, String name) {
    return ((DataSourceV2ScanRelation) leaf).relation().options().get(name);
  }

  @Override
  public void readRaw(
      LogicalPlan leaf, int stride, PathSet files, Map<LogicalPlan, LogicalPlan> replaced)
      throws Exception {
    Scan scan = scan(leaf);
    ResidualEvaluator all = ResidualEvaluator.unpartitioned(Expressions.alwaysTrue());
    // writing a table's schema as JSON is slow, and all tasks have the same schema
    String schema = null;
    Map<Integer, String> specs = new HashMap<>();
    List<PartitionScanTask> raw = new ArrayList<>();
    int selected = 0;
    for (PartitionScanTask each : SparkScans.tasks(scan)) {
      var task = (FileScanTask) each;
      if (files != null && !files.contains(path(task))) continue;
      if (selected++ % stride != 0) continue;
      if (task.deletes().isEmpty()) {
        raw.add(task);
        continue;
      }
      if (schema == null) schema = SchemaParser.toJson(task.schema());
      String spec =
          specs.computeIfAbsent(
              task.spec().specId(), id -> PartitionSpecParser.toJson(task.spec()));
      raw.add(new BaseFileScanTask(task.file(), new DeleteFile[0], schema, spec, all));
    }
    SparkScans.resetTasks(scan, raw);
  }

  /** Return the path of a task's data file, as indexes have it. */
  static String path(PartitionScanTask task) {
    return FilePaths.normal(((ContentScanTask<?>) task).file().location());
  }
}
