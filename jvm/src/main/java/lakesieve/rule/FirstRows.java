package lakesieve.rule;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import lakesieve.predicate.KeyType;
import lakesieve.predicate.LeafColumns;
import lakesieve.spark.Scala;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Descending$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NullsFirst$;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.Max;
import org.apache.spark.sql.catalyst.expressions.aggregate.Min;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Offset;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Sort;

/**
 * The first rows that the part of a plan above a node needs, if it needs no other rows of the node.
 *
 * <p>{@code ORDER BY k LIMIT n} needs the first n rows. {@code max(k)} needs the first row of a
 * descending order, and {@code min(k)} of an ascending one, both without nulls. A query with both
 * needs the first rows of two orders.
 */
record FirstRows(int limit, List<Order> orders, boolean isFiltered) implements NeededRows {

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
  static FirstRows below(LogicalPlan n, FirstRows above) {
    if (n instanceof GlobalLimit limit) return ofLimit(limit.limitExpr());
    if (n instanceof Aggregate aggregate) return ofAggregate(aggregate);
    if (above == null) return null;
    // each partition has a limit of its own, so only one below a limit of all rows counts
    if (n instanceof LocalLimit) return above.isOrdered() ? null : above;
    if (n instanceof Offset offset) return above.isOrdered() ? null : above.after(offset);
    if (n instanceof Sort sort) return above.isOrdered() ? null : above.sorted(sort);
    if (!PlanNodes.passesConditions(n)) return null;
    if (n instanceof Project project) return above.below(project);
    return n instanceof Filter filter && above.isOrdered() ? above.below(filter) : null;
  }

  @Override
  public String field() {
    return "first_rows";
  }

  @Override
  public Map<String, Object> described(LogicalPlan leaf) {
    if (!isOrdered()) return null;
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

  private boolean isOrdered() {
    return !orders.isEmpty();
  }

  private static FirstRows ofLimit(Expression limit) {
    boolean isKnown =
        limit instanceof Literal literal
            && literal.value() instanceof Integer number
            && number.intValue() > 0;
    if (!isKnown) return null;
    return new FirstRows((Integer) ((Literal) limit).value(), List.of(), false);
  }

  /**
   * Return the rows that are needed below an offset: those of the limit and those that it drops.
   */
  private FirstRows after(Offset offset) {
    boolean isKnown =
        offset.offsetExpr() instanceof Literal literal && literal.value() instanceof Integer;
    if (!isKnown) return null;
    int dropped = (Integer) ((Literal) offset.offsetExpr()).value();
    return dropped < 0 || limit > Integer.MAX_VALUE - dropped
        ? null
        : new FirstRows(limit + dropped, orders, isFiltered);
  }

  private FirstRows sorted(Sort sort) {
    if (!sort.global()) return null;
    SortOrder first = Scala.list(sort.order()).get(0);
    boolean isDescending = first.direction() == Descending$.MODULE$;
    boolean nullsFirst = first.nullOrdering() == NullsFirst$.MODULE$;
    Order order = new Order(first.child(), isDescending, nullsFirst, limit);
    return new FirstRows(limit, List.of(order), false);
  }

  private static FirstRows ofAggregate(Aggregate aggregate) {
    if (!aggregate.groupingExpressions().isEmpty()) return null;
    List<Order> orders = new ArrayList<>();
    for (NamedExpression e : Scala.list(aggregate.aggregateExpressions())) {
      if (!addOrders((Expression) e, orders)) return null;
    }
    return orders.isEmpty() ? null : new FirstRows(1, orders, false);
  }

  /** Add the orders of all aggregates in an expression. Return false for other than min and max. */
  private static boolean addOrders(Expression e, List<Order> orders) {
    if (e instanceof AggregateExpression aggregate) {
      if (aggregate.filter().isDefined()) return false;
      if (aggregate.aggregateFunction() instanceof Max max) {
        orders.add(new Order(max.child(), true, false, 1));
        return true;
      }
      if (aggregate.aggregateFunction() instanceof Min min) {
        orders.add(new Order(min.child(), false, false, 1));
        return true;
      }
      return false;
    }
    for (Expression child : Scala.list(e.children())) {
      if (!addOrders(child, orders)) return false;
    }
    return true;
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
    return new FirstRows(limit, below, isFiltered);
  }

  /** Return the rows below a filter. One that only drops nulls of the only key is no condition. */
  private FirstRows below(Filter filter) {
    boolean dropsNulls =
        orders.size() == 1
            && filter.condition() instanceof IsNotNull notNull
            && notNull.child().semanticEquals(orders.get(0).key);
    if (!dropsNulls) return new FirstRows(limit, orders, true);
    return new FirstRows(limit, List.of(orders.get(0).withoutNulls()), isFiltered);
  }
}
