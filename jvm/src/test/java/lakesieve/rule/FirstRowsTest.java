package lakesieve.rule;

import static lakesieve.rule.PlanParts.column;
import static lakesieve.rule.PlanParts.made;
import static lakesieve.rule.PlanParts.number;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import lakesieve.rule.FirstRows.FirstValues;
import lakesieve.spark.Scala;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Ascending$;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Descending$;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GreaterThan;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.LessThan;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.expressions.Rand;
import org.apache.spark.sql.catalyst.expressions.SortDirection;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.expressions.aggregate.Max;
import org.apache.spark.sql.catalyst.expressions.aggregate.Min;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Offset;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Sort;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.Test;
import scala.Option;

/** Which plans need only the first rows of a leaf, and of which order. */
class FirstRowsTest {
  private final AttributeReference key = column("k", DataTypes.IntegerType);
  private final AttributeReference other = column("v", DataTypes.IntegerType);
  private final LogicalPlan leaf =
      made(LocalRelation.class, Scala.seq(List.of(key, other)), Scala.seq(List.of()), false);

  @Test
  void aLimitOfAnOrderNeedsItsFirstRows() {
    Map<String, Object> expected =
        Map.of(
            "orders",
            List.of(
                Map.of("col", List.of("k"), "descending", true, "nulls_first", false, "limit", 5)),
            "filtered",
            false);

    assertEquals(expected, needed(limit(5, sort(true, leaf))));
    assertEquals(expected, needed(limit(5, project(sort(true, project(leaf))))));
  }

  @Test
  void anOffsetNeedsTheRowsBeforeIt() {
    LogicalPlan plan =
        new GlobalLimit(
            number(3), new Offset(number(2), new LocalLimit(number(5), sort(false, leaf))));

    assertEquals(5, order(plan).get("limit"));
    assertEquals(true, order(plan).get("nulls_first"));
  }

  @Test
  void onlyAFilterOfNullsIsNoCondition() {
    LogicalPlan ofNulls = limit(5, sort(false, new Filter(new IsNotNull(key), leaf)));
    LogicalPlan ofAnother = limit(5, sort(false, new Filter(new IsNotNull(other), leaf)));
    LogicalPlan compared = limit(5, sort(false, new Filter(new GreaterThan(key, number(1)), leaf)));

    assertEquals(false, needed(ofNulls).get("filtered"));
    assertEquals(false, order(ofNulls).get("nulls_first"));
    assertEquals(true, needed(ofAnother).get("filtered"));
    assertEquals(true, needed(compared).get("filtered"));
  }

  @Test
  void otherPlansNeedAnyRow() {
    LogicalPlan sorted = sort(true, leaf);
    LogicalPlan inPartitions = new LocalLimit(number(5), sorted);
    LogicalPlan above = limit(5, new Filter(new IsNotNull(key), sorted));
    LogicalPlan local = limit(5, made(Sort.class, Scala.seq(List.of(order(true))), false, leaf));

    for (LogicalPlan plan : List.of(sorted, inPartitions, above, local, limit(5, leaf))) {
      assertNull(needed(plan), plan.getClass().getSimpleName());
    }
  }

  @Test
  void knownValuesReplaceAnAggregate() {
    LogicalPlan plan = aggregate(project(leaf), max(key), number(7), min(other));

    LogicalPlan row = first(plan).answered(answer(integer(3), integer(4)));

    List<NamedExpression> columns = Scala.list(((Aggregate) plan).aggregateExpressions());
    assertEquals(ids(columns), ids(Scala.list(row.output())));
    assertEquals(List.of(), Scala.list(row.children()));
    InternalRow only = Scala.list(((LocalRelation) row).data()).get(0);
    assertEquals(List.of(3, 7, 4), List.of(only.getInt(0), only.getInt(1), only.getInt(2)));
  }

  @Test
  void otherPlansStay() {
    LogicalPlan plan = aggregate(leaf, max(key), min(key));
    LogicalPlan filtered = aggregate(new Filter(new GreaterThan(key, number(1)), leaf), max(key));
    LogicalPlan random = aggregate(leaf, max(key), new Rand(number(1)));

    assertNull(first(plan).answered(answer(integer(5), new FirstValues(null, null))));
    assertNull(first(plan).answered(answer(integer(5))));
    assertNull(first(filtered).answered(answer(integer(5))));
    assertNull(first(random).answered(answer(integer(5))));
    assertNull(first(limit(1, sort(true, leaf))).answered(answer(integer(5))));
  }

  @Test
  void aBoundBecomesACondition() {
    LogicalPlan ascending = limit(5, sort(false, new Filter(new IsNotNull(key), leaf)));

    Expression high = new GreaterThanOrEqual(key, number(5));
    Expression low = new LessThan(key, number(5));
    assertEquals(high, condition(limit(5, sort(true, leaf)), integer(5)));
    assertEquals(high, condition(aggregate(leaf, max(key)), integer(5)));
    assertEquals(low, condition(ascending, integer(5)));
    // without a choice, null comes first
    assertEquals(new Or(new IsNull(key), low), condition(limit(5, sort(false, leaf)), integer(5)));
    assertNull(condition(limit(5, sort(true, leaf)), new FirstValues(null, null)));
    assertNull(condition(aggregate(leaf, max(key), min(key)), integer(5), integer(1)));
  }

  private static Expression condition(LogicalPlan plan, FirstValues... known) {
    return first(plan).condition(answer(known));
  }

  private static Map<String, Object> answer(FirstValues... known) {
    return Map.of("first_rows", List.of(known));
  }

  private static FirstValues integer(int value) {
    Map<String, Object> written = Map.of("type", "integer", "value", Integer.toString(value));
    return new FirstValues(written, written);
  }

  private static List<ExprId> ids(List<? extends NamedExpression> columns) {
    return columns.stream().map(NamedExpression::exprId).toList();
  }

  private static Expression max(Expression column) {
    return new Max(column).toAggregateExpression();
  }

  private static Expression min(Expression column) {
    return new Min(column).toAggregateExpression();
  }

  private static LogicalPlan aggregate(LogicalPlan child, Expression... columns) {
    List<NamedExpression> named = new ArrayList<>();
    for (Expression each : columns) {
      var id = NamedExpression$.MODULE$.newExprId();
      var none = Scala.<String>seq(List.of());
      named.add(new Alias(each, "c", id, none, Option.empty(), none));
    }
    return made(Aggregate.class, Scala.seq(List.of()), Scala.seq(named), child);
  }

  /** Return what a plan needs of its leaf. */
  private Map<String, Object> needed(LogicalPlan plan) {
    FirstRows first = first(plan);
    return first == null ? null : first.described(leaf);
  }

  private static FirstRows first(LogicalPlan plan) {
    NeededRows rows = null;
    LogicalPlan n = plan;
    while (!n.children().isEmpty()) {
      rows = NeededRows.below(n, rows);
      n = Scala.list(n.children()).get(0);
    }
    return rows instanceof FirstRows first ? first : null;
  }

  // described() lists maps
  @SuppressWarnings("unchecked")
  private Map<String, Object> order(LogicalPlan plan) {
    return ((List<Map<String, Object>>) needed(plan).get("orders")).get(0);
  }

  private LogicalPlan sort(boolean descending, LogicalPlan child) {
    return made(Sort.class, Scala.seq(List.of(order(descending))), true, child);
  }

  private SortOrder order(boolean descending) {
    SortDirection direction = descending ? Descending$.MODULE$ : Ascending$.MODULE$;
    return new SortOrder(key, direction, direction.defaultNullOrdering(), Scala.seq(List.of()));
  }

  private LogicalPlan project(LogicalPlan child) {
    return new Project(Scala.seq(List.of(key, other)), child);
  }

  private static LogicalPlan limit(int rows, LogicalPlan child) {
    return new GlobalLimit(number(rows), new LocalLimit(number(rows), child));
  }
}
