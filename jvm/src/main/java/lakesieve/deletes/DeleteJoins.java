package lakesieve.deletes;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import lakesieve.files.IdentitySet;
import lakesieve.iceberg.SparkScans;
import lakesieve.rule.FoundScan;
import lakesieve.spark.ClassicSessions;
import lakesieve.spark.RaisedErrors;
import lakesieve.spark.Scala;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.PartitionScanTask;
import org.apache.iceberg.spark.source.SparkTable;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.DynamicPruningSubquery;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.util.Utils;
import scala.Option;
import scala.runtime.AbstractPartialFunction;

/**
 * Replaces scans whose equality deletes need too much memory by joins with the deletes.
 *
 * <p>The tasks are those that Iceberg planned for the query, so versions, filters and indexes are
 * applied already. Python makes the joins. They are optimized here, separately, with the conditions
 * above the scan.
 */
public final class DeleteJoins implements ScanJoins {
  private static final String LIMIT = "spark.lakesieve.deletes.memory";

  private final SparkSession spark;
  private final Function<QueryScan, Object> python;
  private final int slots;
  private final long defaultLimit;

  /**
   * Make the joins of a session.
   *
   * @param python makes the joins of a scan: a dataset, or a sentence that says why it could not
   * @param slots tasks that an executor runs at once; Python sends an Integer or a Long
   * @param limit bytes that their delete records may take together, unless the setting says another
   */
  public DeleteJoins(
      SparkSession spark, Function<QueryScan, Object> python, Number slots, Number limit) {
    this.spark = spark;
    this.python = python;
    this.slots = slots.intValue();
    this.defaultLimit = limit.longValue();
  }

  @Override
  public LogicalPlan apply(
      LogicalPlan plan, List<FoundScan> scans, Map<Object, String> outcomes, IdentitySet known) {
    Map<Scan, String> large = new IdentityHashMap<>();
    long limit = limit();
    for (FoundScan found : scans) {
      if (!(found.scan instanceof Scan scan) || !SparkScans.isBatch(scan)) continue;
      try {
        long needed = needed(SparkScans.tasks(scan));
        if (needed <= limit) continue;
        large.put(scan, text(needed) + " of delete records at once, more than " + text(limit));
      } catch (Exception e) {
        outcomes.put(scan, "error\t" + e);
      }
    }
    if (large.isEmpty()) return plan;
    return plan.transformDownWithSubqueries(new Rewrite(large, outcomes, known));
  }

  private long limit() {
    String set = SQLConf.get().getConfString(LIMIT, null);
    if (set == null) return defaultLimit;
    if (set.trim().equalsIgnoreCase("off")) return Long.MAX_VALUE;
    return Utils.byteStringAsBytes(set.trim());
  }

  /** Heap for the delete records of concurrent tasks, if all tasks are as large as the largest. */
  private long needed(List<PartitionScanTask> tasks) {
    long largest = 0;
    int affected = 0;
    for (PartitionScanTask each : tasks) {
      if (!(each instanceof FileScanTask task)) continue;
      long bytes = 0;
      for (DeleteFile file : task.deletes()) {
        if (EqualityFiles.isEquality(file)) bytes += DeleteMemory.of(file, task.schema());
      }
      if (bytes > 0) affected++;
      largest = Math.max(largest, bytes);
    }
    return largest * Math.min(affected, slots);
  }

  private static String text(long bytes) {
    return bytes >= 1 << 20 ? (bytes >> 20) + " MiB" : bytes + " bytes";
  }

  /** Replaces scans in a plan, each with the filter right above it, if there is one. */
  private final class Rewrite extends AbstractPartialFunction<LogicalPlan, LogicalPlan> {
    private final Map<Scan, String> large;
    private final Map<Object, String> outcomes;
    private final IdentitySet known;
    private final Map<Scan, LogicalPlan> joins = new IdentityHashMap<>();

    /**
     * Make a rewrite.
     *
     * @param large the scans that are too large, each with a sentence about sizes
     */
    Rewrite(Map<Scan, String> large, Map<Object, String> outcomes, IdentitySet known) {
      this.large = large;
      this.outcomes = outcomes;
      this.known = known;
    }

    /** True for a scan that is too large, and for a filter right above it. */
    @Override
    public boolean isDefinedAt(LogicalPlan node) {
      return leaf(node) != null;
    }

    /** The join that replaces a node, or the node itself if no join can. */
    @Override
    public LogicalPlan apply(LogicalPlan node) {
      DataSourceV2ScanRelation leaf = leaf(node);
      Expression condition = node instanceof Filter filter ? filter.condition() : null;
      Scan scan = leaf.scan();
      String sizes = large.get(scan);
      try {
        String refusal = refusal(leaf);
        if (refusal != null) {
          outcomes.put(scan, "left\t" + refusal + "; " + sizes);
          large.remove(scan);
          return node;
        }
        LogicalPlan joined = joined(leaf, condition, joins, known);
        outcomes.put(scan, "joined\t" + sizes);
        Expression rest = condition == null ? null : withoutPruning(condition);
        return rest == null ? joined : new Filter(rest, joined);
      } catch (Throwable t) {
        outcomes.put(scan, "error\t" + t.getMessage() + "; " + sizes);
        large.remove(scan);
        return node;
      }
    }

    private DataSourceV2ScanRelation leaf(LogicalPlan node) {
      LogicalPlan below = node instanceof Filter filter ? filter.child() : node;
      boolean isLarge =
          below instanceof DataSourceV2ScanRelation leaf && large.containsKey(leaf.scan());
      return isLarge ? (DataSourceV2ScanRelation) below : null;
    }
  }

  /**
   * The optimized join that replaces a leaf.
   *
   * @param condition of the filter right above the leaf, or null
   * @param joins gets the analyzed plan of the join, which is made once for each scan
   */
  private LogicalPlan joined(
      DataSourceV2ScanRelation leaf,
      Expression condition,
      Map<Scan, LogicalPlan> joins,
      IdentitySet known)
      throws Exception {
    LogicalPlan join = joins.get(leaf.scan());
    if (join == null) {
      join = join(leaf);
      joins.put(leaf.scan(), join);
    }
    LogicalPlan plan = named(join, leaf);
    Expression early = condition == null ? null : early(condition, leaf);
    if (early != null) plan = new Filter(early, plan);
    // an optimized plan keeps the order of its columns, but not their ids
    LogicalPlan best = ClassicSessions.optimized(ClassicSessions.rows(spark, plan));
    mark(best, known);
    return named(best, leaf);
  }

  /** The analyzed plan of the joins that Python makes. */
  private LogicalPlan join(DataSourceV2ScanRelation leaf) throws Exception {
    Object answer = python.apply(QueryScan.of(leaf));
    if (answer instanceof Dataset<?> rows) return rows.queryExecution().analyzed();
    throw new IllegalStateException(String.valueOf(answer));
  }

  /** Why a scan cannot be replaced, or null if it can. */
  private static String refusal(DataSourceV2ScanRelation leaf) {
    // merge-on-read commands check later what the scan itself has read
    if (!(leaf.relation().table() instanceof SparkTable)) return "the scan of a command";
    for (Attribute column : Scala.list(leaf.output())) {
      String name = column.name();
      // the first selects deleted rows; the type of the second depends on the columns that are read
      if (name.equals(MetadataColumns.IS_DELETED.name())
          || name.equals(MetadataColumns.PARTITION_COLUMN_NAME)) {
        return "the column " + name;
      }
    }
    return null;
  }

  /** A plan with the names and ids of a leaf's columns. */
  private static LogicalPlan named(LogicalPlan plan, LogicalPlan leaf) {
    List<Attribute> given = Scala.list(plan.output());
    List<Attribute> wanted = Scala.list(leaf.output());
    if (given.size() != wanted.size()) throw new IllegalStateException("columns");
    List<NamedExpression> columns = new ArrayList<>();
    boolean same = true;
    for (int i = 0; i < given.size(); i++) {
      Attribute from = given.get(i);
      Attribute to = wanted.get(i);
      if (!DataType.equalsIgnoreNullability(from.dataType(), to.dataType())) {
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
              Option.apply(to.metadata()),
              Scala.<String>seq(List.of())));
    }
    return same ? plan : new Project(Scala.seq(columns), plan);
  }

  /** The part of a condition that may be applied before it is known which rows are deleted. */
  private static Expression early(Expression condition, LogicalPlan leaf) {
    if (condition instanceof And and) return and(early(and.left(), leaf), early(and.right(), leaf));
    boolean may =
        condition.deterministic()
            && !RaisedErrors.isRaisedBy(condition)
            && !condition.containsPattern(TreePattern.PLAN_EXPRESSION())
            && condition.references().subsetOf(leaf.outputSet());
    return may ? condition : null;
  }

  /** A condition without the keys of a join's other side, which only Iceberg's scan could use. */
  private static Expression withoutPruning(Expression condition) {
    if (condition instanceof DynamicPruningSubquery) return null;
    if (!(condition instanceof And and)) return condition;
    return and(withoutPruning(and.left()), withoutPruning(and.right()));
  }

  /** The conjunction of two conditions, each of which may be null. */
  private static Expression and(Expression left, Expression right) {
    if (left == null) return right;
    return right == null ? left : new And(left, right);
  }

  /** Add the scans of a plan to the known scans. */
  private static void mark(LogicalPlan plan, IdentitySet known) {
    if (plan instanceof DataSourceV2ScanRelation relation) known.add(relation.scan());
    for (LogicalPlan child : Scala.list(plan.children())) mark(child, known);
  }
}
