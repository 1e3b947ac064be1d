package lakesieve.rule;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import lakesieve.spark.Scala;
import org.apache.spark.sql.catalyst.plans.logical.Distinct;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.junit.jupiter.api.Test;

/** Nodes of a plan that are replaced. */
class ReplacementTest {
  /** Of two equal nodes, only the one that is meant is replaced. */
  @Test
  void equalNodesStay() {
    LogicalPlan meant = new OneRowRelation();
    LogicalPlan equal = new OneRowRelation();
    LogicalPlan other = new Distinct(new OneRowRelation());
    assertEquals(meant, equal);
    assertNotSame(meant, equal);
    Map<LogicalPlan, LogicalPlan> replaced = new IdentityHashMap<>(Map.of(meant, other));
    LogicalPlan plan = new Union(Scala.seq(List.of(meant, equal)), false, false);

    LogicalPlan result = plan.transformUp(new Replacement(replaced));

    assertSame(other, result.children().apply(0));
    assertSame(equal, result.children().apply(1));
  }
}
