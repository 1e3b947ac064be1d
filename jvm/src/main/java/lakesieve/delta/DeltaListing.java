package lakesieve.delta;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import lakesieve.folders.FileScans;
import lakesieve.rule.EarlyRules;
import lakesieve.rule.NeededRows;
import lakesieve.rule.PruningRule;
import lakesieve.rule.Replacement;
import lakesieve.rule.ScanSearch;
import lakesieve.spark.Scala;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Subquery;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.delta.OptimisticTransaction$;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.files.TahoeLogFileIndex;

/**
 * Lists the files of Delta scans from memory, before Delta runs a query over its log for each scan.
 *
 * <p>It does so only for tables of which indexes kept few files before, and only outside
 * transactions, because a transaction records what it reads. The scan then has all files of the
 * snapshot, and the pruning rule selects from them. If the rule keeps many of them, Delta's own
 * rule runs after all. This rule runs right before Delta's rule, in sessions where the optimizer's
 * extensions can be reached. In other sessions, queries are planned as slowly as without lakesieve.
 */
public final class DeltaListing extends Rule<LogicalPlan> {
  private final PruningRule rule;
  private final DeltaScans scans;

  DeltaListing(PruningRule rule, DeltaScans scans) {
    this.rule = rule;
    this.scans = scans;
  }

  /**
   * Install the listing before Delta's rule, in a session with the pruning rule.
   *
   * @return false where the session's optimizer cannot be extended
   */
  public static boolean install(SparkSession spark, PruningRule rule, DeltaScans scans) {
    return EarlyRules.install(spark, "delta", new DeltaListing(rule, scans));
  }

  /** List the files of the scans of a plan from memory. */
  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    if (!rule.prunes() || scans.listedTables().isEmpty()) return plan;
    // these scans are planned again, or visited again in an outer plan
    if (plan instanceof Subquery || plan instanceof V2WriteCommand) return plan;
    if (OptimisticTransaction$.MODULE$.getActive().isDefined()) return plan;
    try {
      Map<LogicalPlan, Boolean> leaves = new IdentityHashMap<>();
      collect(plan, false, null, leaves, 0);
      Map<LogicalPlan, LogicalPlan> replaced = replaced(leaves);
      if (replaced.isEmpty()) return plan;
      return plan.transformDownWithSubqueries(new Replacement(replaced));
    } catch (Exception e) {
      return plan; // Delta reports the problem, if there is one
    }
  }

  /**
   * Collect the leaves that read Delta's log. A leaf gets true if indexes may skip some of its
   * files: a condition is right above the leaf, or the query needs only some of its rows.
   */
  private static void collect(
      LogicalPlan node,
      boolean filtered,
      NeededRows needed,
      Map<LogicalPlan, Boolean> leaves,
      int depth) {
    if (depth > ScanSearch.DEEPEST_PLAN) throw new IllegalStateException("plan too deep");
    if (logIndex(node) != null) {
      // a leaf that occurs several times needs a condition at each occurrence
      leaves.merge(node, filtered || needed != null, Boolean::logicalAnd);
      return;
    }
    for (LogicalPlan subquery : Scala.list(node.subqueries())) {
      collect(subquery, false, null, leaves, depth + 1);
    }
    boolean below = node instanceof Filter || (filtered && node instanceof Project);
    NeededRows rows = NeededRows.below(node, needed);
    for (LogicalPlan child : Scala.list(node.children())) {
      collect(child, below, rows, leaves, depth + 1);
    }
  }

  private Map<LogicalPlan, LogicalPlan> replaced(Map<LogicalPlan, Boolean> leaves)
      throws Exception {
    // all scans of a table read one snapshot, so either all or none of them are listed here
    Map<String, List<LogicalPlan>> byTable = new HashMap<>();
    Set<String> left = new HashSet<>();
    leaves.forEach(
        (leaf, filtered) -> {
          TahoeLogFileIndex index = logIndex(leaf);
          String table = index.deltaLog().dataPath().toString();
          if (filtered && isListed(index)) {
            byTable.computeIfAbsent(table, key -> new ArrayList<>()).add(leaf);
          } else {
            left.add(table);
          }
        });
    byTable.keySet().removeAll(left);
    Map<LogicalPlan, LogicalPlan> replaced = new IdentityHashMap<>();
    for (List<LogicalPlan> ofTable : byTable.values()) {
      Snapshot current = null;
      for (LogicalPlan leaf : ofTable) {
        TahoeLogFileIndex index = logIndex(leaf);
        boolean separate = index.isTimeTravelQuery() || current == null;
        Snapshot snapshot = separate ? index.getSnapshot() : current;
        if (!index.isTimeTravelQuery()) current = snapshot;
        replaced.put(leaf, scans.listed(leaf, snapshot));
      }
    }
    return replaced;
  }

  /** True for the index of a whole table whose files are listed from memory. */
  private boolean isListed(TahoeLogFileIndex index) {
    // the exact class only, because subclasses read the files in another way
    return index.getClass() == TahoeLogFileIndex.class
        && index.partitionFilters().isEmpty()
        && scans.listedTables().contains(index.deltaLog());
  }

  /** The index of a leaf that reads Delta's log, else null. */
  private static TahoeLogFileIndex logIndex(LogicalPlan node) {
    var relation = FileScans.relation(node);
    return relation != null && relation.location() instanceof TahoeLogFileIndex index
        ? index
        : null;
  }
}
