package lakesieve.rule;

import java.util.Map;
import java.util.WeakHashMap;
import lakesieve.files.IdentitySet;
import lakesieve.spark.Scala;
import org.apache.spark.sql.catalyst.QueryPlanningTracker;

/** The scans that the rule has visited, so that it visits each of them once. */
final class VisitedScans {
  private final IdentitySet changedInPlace = new IdentitySet();
  private final Map<QueryPlanningTracker, IdentitySet> leaves = new WeakHashMap<>();

  /** The scans that their adapters change in place. */
  IdentitySet changedInPlace() {
    return changedInPlace;
  }

  /**
   * The leaves that were visited in this run of the optimizer, which applies its rules until the
   * plan no longer changes.
   */
  IdentitySet leavesOfRun() {
    QueryPlanningTracker run = Scala.orNull(QueryPlanningTracker.get());
    if (run == null) return new IdentitySet();
    synchronized (leaves) {
      return leaves.computeIfAbsent(run, unknown -> new IdentitySet());
    }
  }
}
