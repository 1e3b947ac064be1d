package lakesieve.rule;

import static lakesieve.rule.PlanParts.column;
import static lakesieve.rule.PlanParts.made;
import static lakesieve.rule.PlanParts.number;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.List;
import java.util.Map;
import lakesieve.spark.Scala;
import org.apache.spark.sql.catalyst.expressions.Ascending$;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Descending$;
import org.apache.spark.sql.catalyst.expressions.GreaterThan;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.SortDirection;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
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

  /** Return what a plan needs of its leaf. */
  private Map<String, Object> needed(LogicalPlan plan) {
    NeededRows rows = null;
    LogicalPlan n = plan;
    while (!n.children().isEmpty()) {
      rows = NeededRows.below(n, rows);
      n = Scala.list(n.children()).get(0);
    }
    return rows instanceof FirstRows first ? first.described(n) : null;
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
    return new Project(Scala.seq(List.of(key)), child);
  }

  private static LogicalPlan limit(int rows, LogicalPlan child) {
    return new GlobalLimit(number(rows), new LocalLimit(number(rows), child));
  }
}
