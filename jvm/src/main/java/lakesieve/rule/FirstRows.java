package lakesieve.rule;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import lakesieve.predicate.KeyType;
import lakesieve.predicate.LeafColumns;
import lakesieve.spark.Scala;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Descending$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.LessThan;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NullsFirst$;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.apache.spark.sql.catalyst.expressions.aggregate.Max;
import org.apache.spark.sql.catalyst.expressions.aggregate.Min;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Sort;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The first rows that the part of a plan above a node needs, if it needs no other rows of the node.
 *
 * <p>{@code ORDER BY k LIMIT n} needs the first n rows. {@code max(k)} needs the first row of a
 * descending order, and {@code min(k)} of an ascending one, both without nulls. A query with both
 * needs the first rows of two orders.
 *
 * @param isFiltered whether a condition holds for the rows
 * @param aggregate the aggregate whose {@code max} and {@code min} give the orders; null for a sort
 */
record FirstRows(List<Order> orders, boolean isFiltered, Aggregate aggregate)
    implements NeededRows {

  /**
   * What Python knows of the values of the first rows of an order, as the protocol writes values.
   *
   * @param value the first value that is not null, or null
   * @param bound the lowest value if the order is descending, otherwise a value above the highest
   *     one, or null
   */
  record FirstValues(Map<String, Object> value, Map<String, Object> bound) {}

  /** One order. Its key is an expression over the columns of the node. */
  record Order(Expression key, boolean isDescending, boolean nullsFirst, int limit) {
    Order withKey(Expression other) {
      return new Order(other, isDescending, nullsFirst, limit);
    }

    Order withoutNulls() {
      return new Order(key, isDescending, false, limit);
    }
  }

  /**
   * Return the rows that are needed of the children of a node, or null if any row may be needed.
   *
   * @param above the rows that are needed of the node, or null
   */
  static FirstRows below(LogicalPlan n, NeededRows above) {
    if (n instanceof Aggregate aggregate) return ofAggregate(aggregate);
    if (n instanceof Sort sort && above instanceof SomeRows some) return sorted(sort, some);
    if (!(above instanceof FirstRows first) || !PlanNodes.passesConditions(n)) return null;
    return n instanceof Project project ? first.below(project) : first.below((Filter) n);
  }

  @Override
  public String field() {
    return "first_rows";
  }

  @Override
  public Map<String, Object> described(LogicalPlan leaf) {
    LeafColumns columns = LeafColumns.of(leaf);
    List<Map<String, Object>> list = new ArrayList<>();
    for (Order order : orders) {
      List<String> path = columns.path(order.key);
      // other types have an order of their own, such as texts with a collation
      if (path == null || KeyType.of(order.key.dataType()) == null) return null;
      Map<String, Object> described = new LinkedHashMap<>();
      described.put("col", path);
      described.put("descending", order.isDescending);
      described.put("nulls_first", order.nullsFirst);
      described.put("limit", order.limit);
      list.add(described);
    }
    Map<String, Object> result = new LinkedHashMap<>();
    result.put("orders", list);
    result.put("filtered", isFiltered);
    return result;
  }

  /** Return the first rows of an order, of which a limit keeps some. */
  private static FirstRows sorted(Sort sort, SomeRows above) {
    if (!sort.global() || above.isFiltered()) return null;
    SortOrder first = Scala.list(sort.order()).get(0);
    boolean isDescending = first.direction() == Descending$.MODULE$;
    boolean nullsFirst = first.nullOrdering() == NullsFirst$.MODULE$;
    Order order = new Order(first.child(), isDescending, nullsFirst, above.limit());
    return new FirstRows(List.of(order), false, null);
  }

  private static FirstRows ofAggregate(Aggregate aggregate) {
    if (!aggregate.groupingExpressions().isEmpty()) return null;
    List<Order> orders = new ArrayList<>();
    for (AggregateExpression e : OnlyRow.functions(aggregate)) {
      Order order = e.filter().isDefined() ? null : order(e.aggregateFunction());
      if (order == null) return null;
      orders.add(order);
    }
    return orders.isEmpty() ? null : new FirstRows(orders, false, aggregate);
  }

  /**
   * Return the order for {@code max} or {@code min}. Its first row has the result. Return null for
   * any other function.
   */
  private static Order order(AggregateFunction function) {
    if (function instanceof Max max) return new Order(max.child(), true, false, 1);
    if (function instanceof Min min) return new Order(min.child(), false, false, 1);
    return null;
  }

  @Override
  public LogicalPlan answered(Map<String, Object> answer) {
    if (aggregate == null || isFiltered) return null;
    List<FirstValues> known = PythonPlanner.firstValues(answer);
    if (known.size() != orders.size()) return null;
    Map<Expression, Expression> results = new IdentityHashMap<>();
    List<AggregateExpression> functions = OnlyRow.functions(aggregate);
    for (int i = 0; i < functions.size(); i++) {
      Expression function = functions.get(i);
      Object value = KeyType.decoded(known.get(i).value(), function.dataType());
      if (value == null) return null;
      results.put(function, new Literal(value, function.dataType()));
    }
    return OnlyRow.of(aggregate, results);
  }

  /**
   * Return a condition on the columns of the scan that every needed row fulfils, or null. Spark
   * converts only rows that fulfil it.
   *
   * @param answer Python's answer about the scan
   */
  Expression condition(Map<String, Object> answer) {
    if (orders.size() != 1) return null;
    List<FirstValues> known = PythonPlanner.firstValues(answer);
    if (known.size() != 1) return null;
    Order order = orders.get(0);
    DataType type = order.key.dataType();
    Object value = KeyType.decoded(known.get(0).bound(), type);
    // Spark gives conditions on texts to Parquet as texts of Java
    boolean isOdd = value instanceof UTF8String text && !isUnicode(text);
    if (value == null || isOdd) return null;
    Literal bound = new Literal(value, type);
    Expression inside =
        order.isDescending
            ? new GreaterThanOrEqual(order.key, bound)
            : new LessThan(order.key, bound);
    return order.nullsFirst ? new Or(new IsNull(order.key), inside) : inside;
  }

  private static boolean isUnicode(UTF8String text) {
    return UTF8String.fromString(text.toString()).equals(text);
  }

  /** Return the rows with keys in the columns below a projection. */
  private FirstRows below(Project project) {
    List<Order> below = new ArrayList<>();
    for (Order order : orders) {
      Expression key = order.key;
      for (NamedExpression e : Scala.list(project.projectList())) {
        boolean isKey =
            e instanceof Alias alias
                && order.key instanceof NamedExpression named
                && alias.exprId().equals(named.exprId());
        if (isKey) key = ((Alias) e).child();
      }
      below.add(order.withKey(key));
    }
    return new FirstRows(below, isFiltered, aggregate);
  }

  /** Return the rows below a filter. One that only drops nulls of the only key is no condition. */
  private FirstRows below(Filter filter) {
    boolean dropsNulls =
        orders.size() == 1
            && filter.condition() instanceof IsNotNull notNull
            && notNull.child().semanticEquals(orders.get(0).key);
    if (!dropsNulls) return new FirstRows(orders, true, aggregate);
    return new FirstRows(List.of(orders.get(0).withoutNulls()), isFiltered, aggregate);
  }
}
