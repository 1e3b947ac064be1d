package lakesieve.rule;

import static lakesieve.rule.PlanParts.column;
import static lakesieve.rule.PlanParts.made;
import static lakesieve.rule.PlanParts.number;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.List;
import java.util.Map;
import lakesieve.spark.Scala;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Add;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GreaterThan;
import org.apache.spark.sql.catalyst.expressions.InputFileName;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.Rand;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.apache.spark.sql.catalyst.expressions.aggregate.Count;
import org.apache.spark.sql.catalyst.expressions.aggregate.First;
import org.apache.spark.sql.catalyst.expressions.aggregate.Max;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Distinct;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Sort;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.Test;

/** Which plans need only the distinct values of some columns of a leaf. */
class DistinctKeysTest {
  private final AttributeReference key = column("k", DataTypes.IntegerType);
  private final AttributeReference other = column("v", DataTypes.IntegerType);
  private final AttributeReference real = column("r", DataTypes.DoubleType);
  private final AttributeReference list = column("l", ArrayType.apply(DataTypes.IntegerType));
  private final LogicalPlan leaf =
      made(
          LocalRelation.class,
          Scala.seq(List.of(key, other, real, list)),
          Scala.seq(List.of()),
          false);

  @Test
  void groupsNeedEachOfTheirValues() {
    assertEquals(List.of(List.of("k")), columns(grouped(List.of(key), leaf)));
    assertEquals(List.of(List.of("k"), List.of("v")), columns(grouped(List.of(key, other), leaf)));
    assertEquals(List.of(List.of("r")), columns(grouped(List.of(real), leaf)));
  }

  @Test
  void aggregatesOfDistinctValuesNeedEachOfThem() {
    LogicalPlan counted = aggregate(List.of(), List.of(count(true, key)), leaf);
    LogicalPlan ends =
        aggregate(List.of(key), List.of(count(true, other), one(new Max(other))), leaf);

    assertEquals(List.of(List.of("k")), columns(counted));
    assertEquals(List.of(List.of("k"), List.of("v")), columns(ends));
  }

  @Test
  void conditionsAndProjectionsMayLieBetween() {
    Alias alias = named(new Add(key, number(1)));
    LogicalPlan below = new Project(Scala.seq(List.of(alias)), leaf);
    Expression attribute = alias.toAttribute();
    LogicalPlan filtered = new Filter(new GreaterThan(attribute, number(3)), below);

    assertEquals(List.of(List.of("k")), columns(grouped(List.of(attribute), filtered)));
    LogicalPlan ofAnother = new Filter(new GreaterThan(other, number(3)), leaf);
    assertEquals(List.of(List.of("k"), List.of("v")), columns(grouped(List.of(key), ofAnother)));
  }

  @Test
  void bothZerosAreOneKeyOnlyWhereTheyAreOneGroup() {
    LogicalPlan withoutNulls = new Filter(new IsNotNull(real), leaf);
    LogicalPlan compared = new Filter(new GreaterThan(real, number(3)), leaf);

    assertEquals(List.of(List.of("r")), columns(grouped(List.of(real), withoutNulls)));
    assertNull(needed(grouped(List.of(real), compared)));
    assertNull(needed(grouped(List.of(new Add(real, real)), leaf)));
  }

  @Test
  void otherAggregatesNeedEveryRow() {
    Expression filtered =
        new Max(key)
            .toAggregateExpression(false, scala.Option.apply(new GreaterThan(other, number(3))));
    List<NamedExpression> others =
        List.of(
            count(false, key),
            one(new First(key, false)),
            named(filtered),
            named(new Add(count(true, key).child(), count(false, key).child())));
    for (NamedExpression each : others) {
      assertNull(needed(aggregate(List.of(), List.of(each), leaf)), text(each));
      assertNull(needed(aggregate(List.of(key), List.of(each), leaf)), text(each));
    }
  }

  @Test
  void otherNodesBetweenNeedEveryRow() {
    LogicalPlan limited = new GlobalLimit(number(5), new LocalLimit(number(5), leaf));
    LogicalPlan random = new Filter(new GreaterThan(new Rand(number(1)), number(0)), leaf);
    LogicalPlan sorted = made(Sort.class, Scala.seq(List.of()), true, leaf);
    for (LogicalPlan below : List.of(limited, random, sorted, new Distinct(leaf))) {
      assertNull(needed(grouped(List.of(key), below)), below.getClass().getSimpleName());
    }
    assertNull(needed(new Project(Scala.seq(List.of(key)), leaf)));
  }

  @Test
  void onlyColumnsOfTheLeafCount() {
    AttributeReference foreign = column("k", DataTypes.IntegerType);
    List<Expression> others = List.of(foreign, number(1), new InputFileName(), list);
    for (Expression each : others) {
      assertNull(needed(grouped(List.of(each), leaf)), text(each));
    }
  }

  @Test
  void aCountOfOneColumnMayBeKnown() {
    LogicalPlan counted = aggregate(List.of(), List.of(count(true, key), named(number(7))), leaf);
    LogicalPlan withoutNulls = new Filter(new IsNotNull(key), leaf);

    assertEquals(true, needed(counted).get("counted"));
    InternalRow row = Scala.list(answered(counted, Map.of("distinct_count", 3)).data()).get(0);
    assertEquals(List.of(3L, 7), List.of(row.getLong(0), row.getInt(1)));
    assertNull(answered(counted, Map.of()));
    LogicalPlan ofValues = aggregate(List.of(), List.of(count(true, key)), withoutNulls);
    assertEquals(true, needed(ofValues).get("counted"));
  }

  @Test
  void otherCountsAreNotKnown() {
    LogicalPlan compared = new Filter(new GreaterThan(key, number(3)), leaf);
    List<LogicalPlan> others =
        List.of(
            aggregate(List.of(key), List.of(count(true, key)), leaf),
            aggregate(List.of(), List.of(count(true, key)), compared),
            aggregate(List.of(), List.of(count(true, key), count(true, other)), leaf),
            aggregate(List.of(), List.of(count(true, key), one(new Max(key))), leaf),
            aggregate(List.of(), List.of(count(true, new Add(key, number(1)))), leaf));
    for (LogicalPlan each : others) assertNull(needed(each).get("counted"));
  }

  private static LocalRelation answered(LogicalPlan plan, Map<String, Object> answer) {
    return (LocalRelation) rows(plan).answered(answer);
  }

  private List<?> columns(LogicalPlan plan) {
    return (List<?>) needed(plan).get("cols");
  }

  /** Return what a plan needs of its leaf. */
  private Map<String, Object> needed(LogicalPlan plan) {
    NeededRows rows = rows(plan);
    Map<String, Object> described = rows == null ? null : rows.described(leaf);
    if (described != null) assertEquals("distinct", rows.field());
    return described;
  }

  private static NeededRows rows(LogicalPlan plan) {
    NeededRows rows = null;
    LogicalPlan n = plan;
    while (!n.children().isEmpty()) {
      rows = NeededRows.below(n, rows);
      n = Scala.list(n.children()).get(0);
    }
    return rows;
  }

  private static LogicalPlan grouped(List<? extends Expression> groups, LogicalPlan child) {
    return aggregate(List.copyOf(groups), List.of(), child);
  }

  private static LogicalPlan aggregate(
      List<Expression> groups, List<NamedExpression> results, LogicalPlan child) {
    return made(Aggregate.class, Scala.seq(groups), Scala.seq(results), child);
  }

  private static Alias count(boolean isDistinct, Expression of) {
    return named(
        new Count(Scala.seq(List.of(of))).toAggregateExpression(isDistinct, scala.Option.empty()));
  }

  private static Alias one(AggregateFunction function) {
    return named(function.toAggregateExpression(false, scala.Option.empty()));
  }

  /** The text of an expression would need functions that these tests do not load. */
  private static String text(Object e) {
    return (e instanceof Alias alias ? alias.child() : e).getClass().getSimpleName();
  }

  private static Alias named(Expression e) {
    return new Alias(
        e,
        "result",
        NamedExpression$.MODULE$.newExprId(),
        Scala.seq(List.of()),
        scala.Option.empty(),
        Scala.seq(List.of()));
  }
}
