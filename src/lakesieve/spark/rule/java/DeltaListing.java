package lakesieve;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Subquery;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import ${sql}.SparkSession;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.OptimisticTransaction$;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.files.TahoeLogFileIndex;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;

/**
 * Lists the files of Delta scans from memory, before Delta runs a query over its log for each.
 *
 * <p>Only for tables of which indexes kept few files before, and outside of transactions, which note
 * what they read. The scan then has all files of the snapshot, from which the pruning rule takes its
 * choice; where that is not small, Delta's rule is run after all. Runs right before Delta's rule, where
 * the optimizer's extensions can be reached; without it all is as slow as before.
 */
public final class DeltaListing extends Rule {
  private final PruningRule rule;
  private final DeltaScans scans;

  DeltaListing(PruningRule rule, DeltaScans scans) {
    this.rule = rule;
    this.scans = scans;
  }

  /** Put it before Delta's rule, in a session with the pruning rule; returns whether it could be. */
  public static boolean install(SparkSession spark, PruningRule rule, DeltaScans scans) {
    return EarlyRules.install(spark, "delta", new DeltaListing(rule, scans));
  }

  /** List the files of the scans of a plan from memory. */
  @Override
  public TreeNode apply(TreeNode plan) {
    if (!this.rule.prunes() || !this.scans.hasListed()) return plan;
    // those are planned again, or visited again in an outer plan
    if (plan instanceof Subquery || plan instanceof V2WriteCommand) return plan;
    if (OptimisticTransaction$.MODULE$.getActive().isDefined()) return plan;
    try {
      Map<LogicalPlan, Boolean> leaves = new IdentityHashMap<>();
      collect((LogicalPlan) plan, false, leaves, 0);
      Map<LogicalPlan, LogicalPlan> replaced = replaced(leaves);
      if (replaced.isEmpty()) return plan;
      return ((LogicalPlan) plan).transformDownWithSubqueries(new Replacement(replaced));
    } catch (Exception e) {
      return plan; // Delta reports what is wrong, if anything is
    }
  }

  /** Collect leaves of Delta's log, and whether there is a condition right above each of them. */
  private static void collect(
      LogicalPlan n, boolean filtered, Map<LogicalPlan, Boolean> leaves, int depth) {
    if (depth > ScanSearch.DEEPEST_PLAN) throw new IllegalStateException("plan too deep");
    HadoopFsRelation relation = FileScans.relation(n);
    if (relation != null && relation.location() instanceof TahoeLogFileIndex) {
      boolean before = !Boolean.FALSE.equals(leaves.get(n));
      leaves.put(n, before && filtered);
      return;
    }
    scala.collection.Iterator subqueries = n.subqueries().iterator();
    while (subqueries.hasNext()) {
      collect((LogicalPlan) subqueries.next(), false, leaves, depth + 1);
    }
    boolean below = n instanceof Filter || (filtered && n instanceof Project);
    scala.collection.Iterator children = n.children().iterator();
    while (children.hasNext()) {
      collect((LogicalPlan) children.next(), below, leaves, depth + 1);
    }
  }

  private Map<LogicalPlan, LogicalPlan> replaced(Map<LogicalPlan, Boolean> leaves)
      throws Exception {
    // all scans of a table read one snapshot, so all or none of them are listed here
    Map<String, List<LogicalPlan>> byTable = new HashMap<>();
    for (Map.Entry<LogicalPlan, Boolean> e : leaves.entrySet()) {
      TahoeLogFileIndex index = index((LogicalPlan) e.getKey());
      String table = index.deltaLog().dataPath().toString();
      List<LogicalPlan> ofTable = (List<LogicalPlan>) byTable.get(table);
      if (ofTable == null && !byTable.containsKey(table)) ofTable = new ArrayList<>();
      boolean fit =
          (Boolean) e.getValue()
              && index.getClass() == TahoeLogFileIndex.class
              && index.partitionFilters().isEmpty()
              && this.scans.isListed(index.deltaLog());
      if (ofTable != null && fit) ofTable.add((LogicalPlan) e.getKey());
      byTable.put(table, fit ? ofTable : null);
    }
    Map<LogicalPlan, LogicalPlan> replaced = new IdentityHashMap<>();
    for (List<LogicalPlan> ofTable : byTable.values()) {
      if (ofTable == null) continue;
      Snapshot current = null;
      for (LogicalPlan leaf : ofTable) {
        TahoeLogFileIndex index = index(leaf);
        boolean separate = index.isTimeTravelQuery() || current == null;
        Snapshot snapshot = separate ? index.getSnapshot() : current;
        if (!index.isTimeTravelQuery()) current = snapshot;
        replaced.put(leaf, this.scans.listed(leaf, snapshot));
      }
    }
    return replaced;
  }

  private static TahoeLogFileIndex index(LogicalPlan leaf) {
    FileIndex index = FileScans.relation(leaf).location();
    return (TahoeLogFileIndex) index;
  }
}
