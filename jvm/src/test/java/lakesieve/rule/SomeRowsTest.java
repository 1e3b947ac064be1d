package lakesieve.rule;

import static lakesieve.rule.PlanParts.column;
import static lakesieve.rule.PlanParts.made;
import static lakesieve.rule.PlanParts.number;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.List;
import java.util.Map;
import lakesieve.spark.Scala;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.GreaterThan;
import org.apache.spark.sql.catalyst.expressions.Rand;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Offset;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Sample;
import org.apache.spark.sql.catalyst.plans.logical.Tail;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.Test;

/** Which plans need only some rows of a leaf, and how many. */
class SomeRowsTest {
  private final AttributeReference key = column("k", DataTypes.IntegerType);
  private final LogicalPlan leaf =
      made(LocalRelation.class, Scala.seq(List.of(key)), Scala.seq(List.of()), false);

  @Test
  void aLimitBelowAConditionNeedsSomeRows() {
    Map<String, Object> expected = Map.of("limit", 5);

    assertEquals(expected, needed(limit(5, filter(leaf))));
    assertEquals(expected, needed(limit(5, project(filter(project(leaf))))));
    assertEquals(expected, needed(new GlobalLimit(number(5), filter(leaf))));
  }

  @Test
  void anOffsetNeedsTheRowsBeforeIt() {
    LogicalPlan below = new LocalLimit(number(5), filter(leaf));

    assertEquals(
        Map.of("limit", 5), needed(new GlobalLimit(number(3), new Offset(number(2), below))));
    assertEquals(Map.of("limit", 5), needed(limit(3, new Offset(number(2), filter(leaf)))));
  }

  @Test
  void theInnerLimitCounts() {
    assertEquals(Map.of("limit", 9), needed(limit(2, filter(limit(9, filter(leaf))))));
  }

  @Test
  void otherPlansNeedAnyRow() {
    LogicalPlan inPartitions = new LocalLimit(number(5), filter(leaf));
    LogicalPlan smallerInPartitions =
        new GlobalLimit(number(5), new LocalLimit(number(4), filter(leaf)));
    LogicalPlan random = new Filter(new GreaterThan(new Rand(number(1)), number(0)), filter(leaf));
    LogicalPlan sampled = new Sample(0, 0.5, false, 1, filter(leaf));

    for (LogicalPlan plan :
        List.of(
            limit(5, leaf),
            limit(0, filter(leaf)),
            inPartitions,
            smallerInPartitions,
            limit(5, random),
            limit(5, sampled),
            limit(5, filter(new Sample(0, 0.5, false, 1, leaf))),
            limit(5, filter(inPartitions)),
            limit(5, new Tail(number(9), filter(leaf))),
            limit(5, filter(new Offset(number(2), leaf))),
            filter(leaf))) {
      assertNull(needed(plan), plan.getClass().getSimpleName());
    }
  }

  /** Return what a plan needs of its leaf. */
  private static Map<String, Object> needed(LogicalPlan plan) {
    NeededRows rows = null;
    LogicalPlan n = plan;
    while (!n.children().isEmpty()) {
      rows = NeededRows.below(n, rows);
      n = Scala.list(n.children()).get(0);
    }
    return rows == null ? null : rows.described(n);
  }

  private LogicalPlan filter(LogicalPlan child) {
    return new Filter(new GreaterThan(key, number(1)), child);
  }

  private LogicalPlan project(LogicalPlan child) {
    return new Project(Scala.seq(List.of(key)), child);
  }

  private static LogicalPlan limit(int rows, LogicalPlan child) {
    return new GlobalLimit(number(rows), new LocalLimit(number(rows), child));
  }
}
