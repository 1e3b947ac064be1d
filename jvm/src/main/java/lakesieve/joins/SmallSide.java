package lakesieve.joins;

import java.util.ArrayList;
import java.util.List;
import lakesieve.predicate.ProjectedColumns;
import lakesieve.rule.PlanNodes;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.UnaryNode;

/**
 * The side of a join that is run, with the scans that its keys prune.
 *
 * @param joined scans, with keys in the columns of the plan
 */
record SmallSide(LogicalPlan plan, List<JoinedScan> joined) {
  /**
   * Create the side without nondeterministic nodes at its top, such as the numbering of rows. The
   * query keeps these nodes; the keys are among the columns below.
   */
  static SmallSide of(LogicalPlan plan, List<JoinedScan> joined) {
    // the lowest nondeterministic node among the filters and projections at the top
    LogicalPlan last = null;
    for (LogicalPlan n = plan; n instanceof Filter || n instanceof Project; n = child(n)) {
      if (PlanNodes.isDeterministic(n)) continue;
      if (PlanNodes.namesFiles(n)) return new SmallSide(plan, List.of());
      last = n;
    }
    SmallSide side = new SmallSide(plan, joined);
    if (last == null) return side;
    LogicalPlan end = child(last);
    while (side.plan != end) side = side.below();
    return side;
  }

  private static LogicalPlan child(LogicalPlan filterOrProject) {
    return ((UnaryNode) filterOrProject).child();
  }

  /** Remove the filter or the projection at the top. */
  private SmallSide below() {
    if (!(plan instanceof Project project)) return new SmallSide(child(plan), joined);
    ProjectedColumns columns = new ProjectedColumns(project);
    List<JoinedScan> left = new ArrayList<>();
    for (JoinedScan scan : joined) {
      List<JoinedScan.Key> keys = new ArrayList<>();
      for (JoinedScan.Key key : scan.keys()) {
        Expression other = columns.below(key.other());
        if (other != null) keys.add(new JoinedScan.Key(key.path(), key.column(), other));
      }
      if (!keys.isEmpty()) left.add(scan.with(keys));
    }
    return new SmallSide(project.child(), left);
  }
}
