package lakesieve;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import lakesieve.deletes.DeleteMemory;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.Table;
import org.apache.iceberg.spark.source.SparkTable;
import org.apache.spark.network.util.JavaUtils;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.DynamicPruningSubquery;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.RaiseError;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.trees.TreePattern$;
import ${sql}.Dataset;
import ${sql}.SparkSession;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.internal.SQLConf$;
import org.apache.spark.sql.types.DataType$;

/**
 * Replaces scans whose equality deletes need too much memory by joins with the deletes.
 *
 * <p>The tasks are those that Iceberg planned for the query, so that versions, filters and indexes
 * count already; the joins are made in Python and optimized here, separately, with the conditions
 * above the scan.
 */
public final class DeleteJoins implements ScanJoins {
  private static final String LIMIT = "spark.lakesieve.deletes.memory";

  private final SparkSession spark;
  private final Function<Map<String, Object>, Object> python;
  private final int slots;
  private final long defaultLimit;

  /**
   * Make it for a session.
   *
   * @param python makes the joins of a scan, which is described by a map
   * @param slots tasks that an executor runs at once
   * @param limit bytes that their delete records may take together, unless the setting says another
   */
  public DeleteJoins(
      SparkSession spark,
      Function<Map<String, Object>, Object> python,
      Number slots,
      Number limit) {
    this.spark = spark;
    this.python = python;
    this.slots = slots.intValue();
    this.defaultLimit = limit.longValue();
  }

  @Override
  public LogicalPlan apply(
      LogicalPlan plan, List<FoundScan> scans, Map<Object, String> outcomes, IdentitySet known) {
    Map<Object, String> large = new IdentityHashMap<>();
    long limit = limit();
    for (FoundScan f : scans) {
      if (!f.scan.getClass().getName().endsWith(".SparkBatchQueryScan")) continue;
      try {
        long needed = needed((List<Object>) PrivateMembers.get(f.scan, "tasks"));
        if (needed <= limit) continue;
        String sizes = bytes(needed) + " of delete records at once, more than " + bytes(limit);
        large.put(f.scan, sizes);
      } catch (Exception e) {
        outcomes.put(f.scan, "error\t" + e);
      }
    }
    if (large.isEmpty()) return plan;
    Rewrite rewrite = new Rewrite(this, large, outcomes, known);
    return (LogicalPlan) plan.transformDownWithSubqueries(rewrite);
  }

  private long limit() {
    String set = SQLConf$.MODULE$.get().getConfString(LIMIT, null);
    if (set == null) return this.defaultLimit;
    if (set.trim().equalsIgnoreCase("off")) return Long.MAX_VALUE;
    return JavaUtils.byteStringAsBytes(set.trim());
  }

  /** Heap for the delete records of the tasks that run at once, of the largest kind. */
  private long needed(List<Object> tasks) {
    long largest = 0;
    int affected = 0;
    for (Object each : tasks) {
      if (!(each instanceof FileScanTask)) continue;
      FileScanTask task = (FileScanTask) each;
      long bytes = 0;
      for (DeleteFile file : task.deletes()) {
        if (file.content() != FileContent.EQUALITY_DELETES) continue;
        bytes += DeleteMemory.of(file, task.schema());
      }
      if (bytes > 0) affected++;
      largest = Math.max(largest, bytes);
    }
    return largest * Math.min(affected, this.slots);
  }

  private static String bytes(long n) {
    return n >= 1 << 20 ? (n >> 20) + " MiB" : n + " bytes";
  }

  /** Replaces scans in a plan, and the filters right above them. */
  public static final class Rewrite extends scala.runtime.AbstractPartialFunction {
    private final DeleteJoins joins;
    private final Map<Object, String> large;
    private final Map<Object, String> outcomes;
    private final IdentitySet known;
    private final Map<Object, Dataset> made = new IdentityHashMap<>(); // by scan

    /** Make it of the scans that are too large, each with a sentence about sizes. */
    public Rewrite(
        DeleteJoins joins,
        Map<Object, String> large,
        Map<Object, String> outcomes,
        IdentitySet known) {
      this.joins = joins;
      this.large = large;
      this.outcomes = outcomes;
      this.known = known;
    }

    /** True for a scan that is too large, and for a filter right above it. */
    @Override
    public boolean isDefinedAt(Object node) {
      return scan(node) != null || (node instanceof Filter && scan(((Filter) node).child()) != null);
    }

    /** The join that replaces a node; the node itself where none can. */
    @Override
    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      if (!isDefinedAt(node)) return otherwise.apply(node);
      LogicalPlan leaf = (LogicalPlan) (node instanceof Filter ? ((Filter) node).child() : node);
      Expression condition = node instanceof Filter ? ((Filter) node).condition() : null;
      Object scan = scan(leaf);
      String sizes = (String) this.large.get(scan);
      try {
        DataSourceV2ScanRelation relation = (DataSourceV2ScanRelation) leaf;
        String refusal = refusal(relation);
        if (refusal != null) {
          this.outcomes.put(scan, "left\t" + refusal + "; " + sizes);
          this.large.remove(scan);
          return node;
        }
        LogicalPlan joined = this.joins.joined(relation, condition, this.made, this.known);
        this.outcomes.put(scan, "joined\t" + sizes);
        Expression rest = condition == null ? null : withoutPruning(condition);
        return rest == null ? joined : new Filter(rest, joined);
      } catch (Throwable t) {
        this.outcomes.put(scan, "error\t" + t.getMessage() + "; " + sizes);
        this.large.remove(scan);
        return node;
      }
    }

    private Object scan(Object node) {
      if (!(node instanceof DataSourceV2ScanRelation)) return null;
      Object scan = ((DataSourceV2ScanRelation) node).scan();
      return this.large.containsKey(scan) ? scan : null;
    }
  }

  private static String refusal(DataSourceV2ScanRelation leaf) {
    // merge-on-read commands look later at what the scan itself has read
    if (!(leaf.relation().table() instanceof SparkTable)) return "the scan of a command";
    scala.collection.Iterator it = leaf.output().iterator();
    while (it.hasNext()) {
      String name = ((Attribute) it.next()).name();
      // the one selects the rows that are deleted, the other's type follows the columns read
      if (name.equals(MetadataColumns.IS_DELETED.name())
          || name.equals(MetadataColumns.PARTITION_COLUMN_NAME)) {
        return "the column " + name;
      }
    }
    return null;
  }

  private LogicalPlan joined(
      DataSourceV2ScanRelation leaf,
      Expression condition,
      Map<Object, Dataset> made,
      IdentitySet known)
      throws Exception {
    Dataset rows = (Dataset) made.get(leaf.scan());
    if (rows == null) {
      Object answer = this.python.apply(describe(leaf));
      if (!(answer instanceof Dataset)) throw new IllegalStateException(String.valueOf(answer));
      rows = (Dataset) answer;
      made.put(leaf.scan(), rows);
    }
    LogicalPlan plan = named(rows.queryExecution().analyzed(), leaf);
    Expression early = condition == null ? null : early(condition, leaf);
    if (early != null) plan = new Filter(early, plan);
    // an optimized plan keeps its columns in order, not their ids
    LogicalPlan best = Dataset.ofRows(this.spark, plan).queryExecution().optimizedPlan();
    mark(best, known);
    return named(best, leaf);
  }

  private static Map<String, Object> describe(DataSourceV2ScanRelation leaf) throws Exception {
    Map<String, Object> m = new HashMap<>();
    Table table = (Table) PrivateMembers.get(leaf.scan(), "table");
    m.put("name", table.name());
    m.put("table", table);
    m.put("schema", PrivateMembers.get(leaf.scan(), "schema"));
    m.put("projection", PrivateMembers.get(leaf.scan(), "${projection}"));
    m.put("snapshot", PrivateMembers.get(leaf.scan(), "snapshotId"));
    m.put("tasks", PrivateMembers.get(leaf.scan(), "tasks"));
    List<String> output = new ArrayList<>();
    List<String> metadata = new ArrayList<>();
    scala.collection.Iterator it = leaf.output().iterator();
    while (it.hasNext()) {
      String name = ((Attribute) it.next()).name();
      output.add(name);
      if (MetadataColumns.isMetadataColumn(name)) metadata.add(name);
    }
    m.put("output", output);
    m.put("metadata", metadata);
    return m;
  }

  /** A plan with the names and ids of a leaf's columns. */
  private static LogicalPlan named(LogicalPlan plan, LogicalPlan leaf) {
    if (plan.output().size() != leaf.output().size()) throw new IllegalStateException("columns");
    List<Object> columns = new ArrayList<>();
    boolean same = true;
    for (int i = 0; i < plan.output().size(); i++) {
      Attribute from = (Attribute) plan.output().apply(i);
      Attribute to = (Attribute) leaf.output().apply(i);
      if (!DataType$.MODULE$.equalsIgnoreNullability(from.dataType(), to.dataType())) {
        throw new IllegalStateException("the type of " + to.name() + ": " + from.dataType());
      }
      if (from.exprId().equals(to.exprId())) {
        columns.add(from);
        continue;
      }
      same = false;
      columns.add(
          new Alias(
              from,
              to.name(),
              to.exprId(),
              to.qualifier(),
              scala.Option.apply(to.metadata()),
              sequence(new ArrayList<>())));
    }
    return same ? plan : new Project(sequence(columns), plan);
  }

  private static ${Seq} sequence(List<Object> items) {
    return (${Seq}) scala.collection.JavaConverters.asScalaBuffer(items).toSeq();
  }

  /** The part of a condition that may be applied to rows before it is known which are deleted. */
  private static Expression early(Expression e, LogicalPlan leaf) {
    if (e instanceof And) {
      Expression left = early(((And) e).left(), leaf);
      Expression right = early(((And) e).right(), leaf);
      if (left == null || right == null) return left == null ? right : left;
      return new And(left, right);
    }
    boolean may =
        e.deterministic()
            && !${throwable}
            && !e.containsPattern(TreePattern$.MODULE$.PLAN_EXPRESSION())
            && e.references().subsetOf(leaf.outputSet());
    return may ? e : null;
  }

  /** Whether an expression raises errors on purpose, where Spark itself does not tell. */
  private static boolean raises(Expression e) {
    boolean raises = e instanceof RaiseError;
    scala.collection.Iterator children = e.children().iterator();
    while (!raises && children.hasNext()) raises = raises((Expression) children.next());
    return raises;
  }

  /** A condition without what only Iceberg's scan could use: the keys of a join's other side. */
  private static Expression withoutPruning(Expression e) {
    if (e instanceof DynamicPruningSubquery) return null;
    if (!(e instanceof And)) return e;
    Expression left = withoutPruning(((And) e).left());
    Expression right = withoutPruning(((And) e).right());
    if (left == null || right == null) return left == null ? right : left;
    return new And(left, right);
  }

  /** Add the scans of a plan to those that are known. */
  private static void mark(LogicalPlan plan, IdentitySet known) {
    if (plan instanceof DataSourceV2ScanRelation) {
      known.add(((DataSourceV2ScanRelation) plan).scan());
    }
    scala.collection.Iterator children = plan.children().iterator();
    while (children.hasNext()) mark((LogicalPlan) children.next(), known);
  }
}
