package lakesieve.rule;

import java.util.Map;
import lakesieve.spark.TreeReplacement;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * Replaces nodes of a plan. Nodes are distinguished by identity, because equal nodes may keep other
 * files.
 */
public final class Replacement extends TreeReplacement<LogicalPlan> {
  /** Create the replacement from other nodes by those that they replace, in an identity map. */
  public Replacement(Map<LogicalPlan, LogicalPlan> replaced) {
    super(replaced::get);
  }
}
