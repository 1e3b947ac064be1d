package lakesieve;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Subquery;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.OptimisticTransaction$;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.files.TahoeLogFileIndex;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import scala.runtime.AbstractFunction1;

/**
 * Lists the files of Delta scans from memory, before Delta runs a query over its log for each.
 *
 * <p>Only for tables whose indexes have left few files before, and outside of transactions, which
 * note what they read. The scan then has all files of the snapshot, from which the pruning rule takes
 * its choice; where that is no small one, Delta's own rule is run after all. Runs right before that
 * rule, where the optimizer's extensions can be reached; without it all is as slow as before.
 */
public final class DeltaListing extends Rule {
  private static final WeakHashMap SESSIONS = new WeakHashMap();
  private static final WeakHashMap EXTENDED = new WeakHashMap();

  private final PruningRule rule;
  private final DeltaScans scans;

  DeltaListing(PruningRule rule, DeltaScans scans) {
    this.rule = rule;
    this.scans = scans;
  }

  /** Put it before Delta's rule, in a session with the pruning rule; returns whether it could be. */
  public static boolean install(SparkSession spark, PruningRule rule, DeltaScans scans) {
    synchronized (SESSIONS) {
      try {
        SparkSessionExtensions extensions = spark.extensions();
        if (!EXTENDED.containsKey(extensions)) {
          Field field = SparkSessionExtensions.class.getDeclaredField("preCBORules");
          field.setAccessible(true);
          scala.collection.mutable.Buffer rules =
              (scala.collection.mutable.Buffer) field.get(extensions);
          rules.$plus$eq$colon(new Builder());
          EXTENDED.put(extensions, Boolean.TRUE);
        }
        SESSIONS.put(spark, new DeltaListing(rule, scans));
        return true;
      } catch (Exception e) {
        return false;
      }
    }
  }

  /** Makes the rule of a session for each of its queries. */
  public static final class Builder extends AbstractFunction1 {
    public Object apply(Object session) {
      synchronized (SESSIONS) {
        Object found = SESSIONS.get(session);
        return found == null ? new DeltaListing(null, null) : found;
      }
    }
  }

  public TreeNode apply(TreeNode plan) {
    if (this.rule == null || !this.rule.prunes() || !this.scans.hasListed()) return plan;
    // those are planned again, or met again in an outer plan
    if (plan instanceof Subquery || plan instanceof V2WriteCommand) return plan;
    if (OptimisticTransaction$.MODULE$.getActive().isDefined()) return plan;
    try {
      Map leaves = new IdentityHashMap();
      collect((LogicalPlan) plan, false, leaves, 0);
      Map replaced = replaced(leaves);
      if (replaced.isEmpty()) return plan;
      return ((LogicalPlan) plan).transformDownWithSubqueries(new Replacement(replaced));
    } catch (Exception e) {
      return plan; // Delta says what is wrong, if anything is
    }
  }

  /** Leaves of Delta's log, and whether some condition stands right above each of them. */
  private static void collect(LogicalPlan n, boolean filtered, Map leaves, int depth) {
    if (depth > ScanSearch.DEEPEST_PLAN) throw new IllegalStateException("plan too deep");
    HadoopFsRelation relation = FileScans.relation(n);
    if (relation != null && relation.location() instanceof TahoeLogFileIndex) {
      boolean before = !Boolean.FALSE.equals(leaves.get(n));
      leaves.put(n, before && filtered ? Boolean.TRUE : Boolean.FALSE);
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

  private Map replaced(Map leaves) {
    // all scans of a table read one snapshot, so all or none of them are listed here
    Map byTable = new HashMap();
    for (Iterator it = leaves.entrySet().iterator(); it.hasNext(); ) {
      Map.Entry e = (Map.Entry) it.next();
      TahoeLogFileIndex index = index((LogicalPlan) e.getKey());
      Object table = index.deltaLog().dataPath().toString();
      List some = (List) byTable.get(table);
      if (some == null && !byTable.containsKey(table)) some = new ArrayList();
      boolean fit =
          e.getValue() == Boolean.TRUE
              && index.getClass() == TahoeLogFileIndex.class
              && index.partitionFilters().isEmpty()
              && this.scans.isListed(index.deltaLog());
      if (some != null && fit) some.add(e.getKey());
      byTable.put(table, fit ? some : null);
    }
    Map replaced = new IdentityHashMap();
    for (Iterator it = byTable.values().iterator(); it.hasNext(); ) {
      List some = (List) it.next();
      Snapshot current = null;
      for (int i = 0; some != null && i < some.size(); i++) {
        LogicalPlan leaf = (LogicalPlan) some.get(i);
        TahoeLogFileIndex index = index(leaf);
        Snapshot snapshot = index.isTimeTravelQuery() || current == null ? index.getSnapshot() : current;
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
