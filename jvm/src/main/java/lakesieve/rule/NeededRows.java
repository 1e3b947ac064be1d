package lakesieve.rule;

import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * What the part of a plan above a node needs of the rows of the node, if it does not need all of
 * them.
 */
public sealed interface NeededRows permits FirstRows, DistinctKeys, SomeRows {
  /**
   * Return what is needed of the children of a node, or null if any row may be needed.
   *
   * @param above what is needed of the node, or null
   */
  static NeededRows below(LogicalPlan n, NeededRows above) {
    NeededRows first = FirstRows.below(n, above);
    if (first != null) return first;
    NeededRows some = SomeRows.below(n, above instanceof SomeRows rows ? rows : null);
    if (some != null) return some;
    return DistinctKeys.below(n, above instanceof DistinctKeys keys ? keys : null);
  }

  /** The aggregate without groups that needs the rows, or null. */
  Aggregate aggregate();

  /**
   * Return the only row of the aggregate as a plan without a scan, or null if the answer does not
   * have it.
   *
   * @param answer Python's answer about a scan of which indexes know every row
   */
  LogicalPlan answered(Map<String, Object> answer);

  /** Name of the field of a request that has the description. */
  String field();

  /**
   * Return the description of the rows for Python, or null if they cannot be described.
   *
   * @param leaf the scan; the expressions are over its columns
   */
  Map<String, Object> described(LogicalPlan leaf);
}
