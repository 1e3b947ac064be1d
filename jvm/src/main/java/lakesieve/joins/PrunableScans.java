package lakesieve.joins;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import lakesieve.predicate.LeafColumns;
import lakesieve.rule.FoundScan;
import lakesieve.rule.PlanNodes;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;

/** Finds the scans below the sides of joins that the keys of the other side may prune. */
final class PrunableScans {
  // by the scan, or by the topmost node of its chain
  private final Map<Object, FoundScan> scans = new IdentityHashMap<>();

  /** Create the search from the scans of a plan that Python answered. */
  PrunableScans(List<FoundScan> open) {
    for (FoundScan f : open) {
      // the keys of one occurrence say nothing about other occurrences of the same scan
      if (!f.occursOnce() || f.isRefused()) continue;
      scans.put(f.adapter.inPlace() ? f.scan : f.top, f);
    }
  }

  boolean isEmpty() {
    return scans.isEmpty();
  }

  /**
   * Return the scans of one side of a join. The report says why other scans are left out.
   *
   * @param pairs those of the join
   * @param left whether it is the left side
   * @param carries whether the command carries target rows without a partner over
   */
  List<JoinedScan> of(Join join, List<EqualPair> pairs, boolean left, boolean carries) {
    JoinKind kind = JoinKind.of(join);
    Walk walk = new Walk(kind, left);
    walk.visit(left ? join.left() : join.right(), pairs, null);
    List<JoinedScan> result = new ArrayList<>();
    for (JoinedScan joined : walk.joined) {
      String refusal = refusal(kind, left, carries, joined.scan());
      if (refusal == null) result.add(joined);
      else joined.scan().skipped("join-unsupported", refusal);
    }
    return result;
  }

  /** Null if the join drops unmatched rows of a side, else the reason why they are needed. */
  private static String refusal(JoinKind kind, boolean left, boolean carries, FoundScan scan) {
    if (scan.isRewritten()) {
      // the command leaves whole files alone, whatever happens to rows in the files that it reads
      return carries ? null : "the command needs unmatched rows";
    }
    if (!kind.needsUnmatched(left)) return null;
    return "a " + kind.name() + " join keeps unmatched rows";
  }

  /** The path through one side to the scans that contribute at most one row to each of its rows. */
  private final class Walk {
    private final JoinKind kind;
    private final boolean left;
    private final List<JoinedScan> joined = new ArrayList<>();

    Walk(JoinKind kind, boolean left) {
      this.kind = kind;
      this.left = left;
    }

    /**
     * @param pairs those of the join, with this side's expressions in the columns of the node
     * @param top the topmost of the filters and projections right above the node, or null
     */
    void visit(LogicalPlan n, List<EqualPair> pairs, LogicalPlan top) {
      LogicalPlan chain = top == null ? n : top;
      if (n.children().isEmpty()) {
        Object key = n instanceof DataSourceV2ScanRelation relation ? relation.scan() : chain;
        FoundScan f = scans.get(key);
        if (f != null) addIfAnswerable(f, n, pairs);
      } else if (n instanceof Filter filter && PlanNodes.passesConditions(n)) {
        visit(filter.child(), pairs, chain);
      } else if (n instanceof Project project && PlanNodes.passesConditions(n)) {
        visit(project.child(), EqualPair.below(project, pairs, left), chain);
      } else if (n instanceof Join join) {
        JoinKind below = JoinKind.of(join);
        if (below.givesRowsOf(true)) visit(join.left(), pairs, null);
        if (below.givesRowsOf(false)) visit(join.right(), pairs, null);
      }
    }

    private void addIfAnswerable(FoundScan f, LogicalPlan leaf, List<EqualPair> pairs) {
      if (f.leading() == null || f.leading().isEmpty()) return;
      List<JoinedScan.Key> keys = new ArrayList<>();
      LeafColumns columns = LeafColumns.of(leaf);
      boolean answerable = false;
      for (EqualPair pair : pairs) {
        Expression column = pair.of(left);
        List<String> path = columns.path(column);
        if (path == null) continue;
        answerable = answerable || f.leading().contains(path);
        keys.add(new JoinedScan.Key(path, column, pair.of(!left)));
      }
      if (!answerable) {
        f.skipped("join-unsupported", "no equality of the join has an index");
        return;
      }
      // if all rows of the other side stay, Spark cannot broadcast them, but would shuffle the
      // scan's rows
      boolean filtersRows = !f.isRewritten() && !kind.broadcastsEitherSide();
      joined.add(new JoinedScan(f, leaf, keys, filtersRows));
    }
  }
}
