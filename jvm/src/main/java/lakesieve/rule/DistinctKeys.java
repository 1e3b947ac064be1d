package lakesieve.rule;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import lakesieve.predicate.KeyType;
import lakesieve.predicate.LeafColumns;
import lakesieve.spark.Scala;
import lakesieve.spark.TreeReplacement;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.apache.spark.sql.catalyst.expressions.aggregate.Count;
import org.apache.spark.sql.catalyst.expressions.aggregate.Max;
import org.apache.spark.sql.catalyst.expressions.aggregate.Min;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;

/**
 * The values of which an aggregate needs each combination at least once. How often a combination
 * occurs does not matter.
 *
 * <p>{@code SELECT DISTINCT k}, {@code GROUP BY k} and {@code count(DISTINCT k)} need each value of
 * k. The result depends only on the values, so a condition below the aggregate is no hindrance if
 * it reads these columns alone.
 *
 * @param values the groups and the arguments of the aggregates
 * @param conditions the conditions below the aggregate
 * @param aggregate the aggregate if it has no groups, otherwise null
 */
record DistinctKeys(List<Expression> values, List<Expression> conditions, Aggregate aggregate)
    implements NeededRows {
  /**
   * Return what is needed of the children of a node, or null if any row may be needed.
   *
   * @param above what is needed of the node, or null
   */
  static DistinctKeys below(LogicalPlan n, DistinctKeys above) {
    if (n instanceof Aggregate aggregate) return ofAggregate(aggregate);
    if (above == null || !PlanNodes.passesConditions(n)) return null;
    return n instanceof Project project ? above.below(project) : above.below((Filter) n);
  }

  @Override
  public String field() {
    return "distinct";
  }

  @Override
  public Map<String, Object> described(LogicalPlan leaf) {
    LeafColumns columns = LeafColumns.of(leaf);
    Set<List<String>> paths = new LinkedHashSet<>();
    for (Expression value : values) {
      // values of other types may be equal without being the same, such as texts with a collation
      if (KeyType.of(value.dataType()) == null) return null;
      if (!addColumns(value, true, columns, paths)) return null;
    }
    for (Expression condition : conditions) {
      if (!addColumns(condition, false, columns, paths)) return null;
    }
    if (paths.isEmpty()) return null;
    Map<String, Object> described = new LinkedHashMap<>();
    described.put("cols", new ArrayList<>(paths));
    if (isCount(columns)) described.put("counted", true);
    return described;
  }

  @Override
  public LogicalPlan answered(Map<String, Object> answer) {
    if (!(answer.get("distinct_count") instanceof Number count)) return null;
    Map<Expression, Expression> results = new IdentityHashMap<>();
    for (AggregateExpression function : OnlyRow.functions(aggregate)) {
      results.put(function, new Literal(count.longValue(), function.dataType()));
    }
    return OnlyRow.of(aggregate, results);
  }

  /** True if the aggregate only counts the distinct values of one column of the scan. */
  private boolean isCount(LeafColumns columns) {
    if (aggregate == null || values.isEmpty()) return false;
    Expression column = values.get(0);
    // nulls do not count
    boolean isOfAllRows =
        conditions.stream()
            .allMatch(e -> e instanceof IsNotNull test && test.child().semanticEquals(column));
    return columns.path(column) != null
        && isOfAllRows
        && values.stream().allMatch(column::semanticEquals)
        && OnlyRow.functions(aggregate).stream()
            .allMatch(e -> e.aggregateFunction() instanceof Count && countsOne(e));
  }

  private static boolean countsOne(AggregateExpression function) {
    return function.aggregateFunction().children().size() == 1;
  }

  private static DistinctKeys ofAggregate(Aggregate aggregate) {
    List<Expression> values = new ArrayList<>(Scala.list(aggregate.groupingExpressions()));
    for (AggregateExpression e : OnlyRow.functions(aggregate)) {
      AggregateFunction function = e.aggregateFunction();
      boolean isOfDistinct = e.isDistinct() && function instanceof Count;
      boolean isEnd = function instanceof Max || function instanceof Min;
      // any other function depends on the number of rows
      if (e.filter().isDefined() || !isOfDistinct && !isEnd) return null;
      values.addAll(Scala.list(function.children()));
    }
    boolean hasGroups = !aggregate.groupingExpressions().isEmpty();
    return new DistinctKeys(values, List.of(), hasGroups ? null : aggregate);
  }

  /** Return the values and the conditions over the columns below a projection. */
  private DistinctKeys below(Project project) {
    var aliases =
        new TreeReplacement<Expression>(
            e -> e instanceof NamedExpression named ? aliased(project, named) : null);
    return new DistinctKeys(
        values.stream().map(e -> e.transformUp(aliases)).toList(),
        conditions.stream().map(e -> e.transformUp(aliases)).toList(),
        aggregate);
  }

  /** Return what a projection computes under a name, or null for a column that it passes on. */
  private static Expression aliased(Project project, NamedExpression named) {
    for (NamedExpression e : Scala.list(project.projectList())) {
      if (e instanceof Alias alias && alias.exprId().equals(named.exprId())) return alias.child();
    }
    return null;
  }

  private DistinctKeys below(Filter filter) {
    List<Expression> every = new ArrayList<>(conditions);
    every.add(filter.condition());
    return new DistinctKeys(values, every, aggregate);
  }

  /**
   * Add the columns that an expression reads. Return false if its value depends on anything else.
   *
   * <p>An index takes both zeros of a float as one key, and all NaNs. A function may tell them
   * apart, but groups and tests for null do not.
   *
   * @param isAlike whether the plan takes such values as one, too
   */
  private static boolean addColumns(
      Expression e, boolean isAlike, LeafColumns columns, Set<List<String>> paths) {
    if (!e.deterministic()) return false;
    List<String> path = columns.path(e);
    if (path != null) {
      KeyType type = KeyType.of(e.dataType());
      if (type == null || type.name().equals("float") && !isAlike) return false;
      paths.add(path);
      return true;
    }
    List<Expression> children = Scala.list(e.children());
    // other leaves are columns of other plans, results of subqueries, or names of files
    if (children.isEmpty()) return e instanceof Literal;
    boolean isTestOfNull = e instanceof IsNotNull || e instanceof IsNull;
    for (Expression child : children) {
      if (!addColumns(child, isTestOfNull, columns, paths)) return false;
    }
    return true;
  }
}
