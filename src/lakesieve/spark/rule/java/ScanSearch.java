package lakesieve;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;

/** Finds the scans of a plan, with the conditions that stand above each. */
public final class ScanSearch {
  /** Nodes on top of one another, in a plan that is gone through. */
  public static final int DEEPEST_PLAN = 500;

  private final ScanAdapter[] adapters;

  public ScanSearch(ScanAdapter[] adapters) {
    this.adapters = adapters;
  }

  /** All {@link FoundScan}s of a plan and of its subqueries. */
  public List scans(LogicalPlan plan) {
    List found = new ArrayList();
    collect(plan, new ArrayList(), null, new IdentityHashMap(), found, 0);
    return found;
  }

  private void collect(
      LogicalPlan n, List conditions, LogicalPlan top, IdentityHashMap seen, List out, int depth) {
    if (depth > DEEPEST_PLAN) throw new IllegalStateException("plan deeper than " + DEEPEST_PLAN);
    for (int i = 0; i < this.adapters.length; i++) {
      Object scan = this.adapters[i].scan(n);
      if (scan == null) continue;
      Object key = this.adapters[i].inPlace() ? scan : top == null ? n : top;
      FoundScan f = (FoundScan) seen.get(key);
      if (f == null) {
        f = new FoundScan();
        f.scan = scan;
        f.leaf = n;
        f.top = top == null ? n : top;
        f.adapter = this.adapters[i];
        seen.put(key, f);
        out.add(f);
        f.places.add(place(n, conditions));
      } else if (this.adapters[i].inPlace()) {
        f.places.add(place(n, conditions));
      }
      f.times++;
      return;
    }
    scala.collection.Iterator subqueries = n.subqueries().iterator();
    while (subqueries.hasNext()) {
      collect((LogicalPlan) subqueries.next(), new ArrayList(), null, seen, out, depth + 1);
    }
    List below = new ArrayList();
    LogicalPlan chain = null;
    // only rows of nodes that neither add nor reorder rows may be judged by what stands above
    if (n instanceof Filter && ((Filter) n).condition().deterministic()) {
      below.addAll(conditions);
      below.add(((Filter) n).condition());
      chain = top == null ? n : top;
    } else if (n instanceof Project && deterministic((Project) n)) {
      below.addAll(conditions);
      chain = top == null ? n : top;
    }
    scala.collection.Iterator children = n.children().iterator();
    while (children.hasNext()) {
      collect((LogicalPlan) children.next(), below, chain, seen, out, depth + 1);
    }
  }

  private static boolean deterministic(Project p) {
    scala.collection.Iterator it = p.projectList().iterator();
    while (it.hasNext()) {
      if (!((Expression) it.next()).deterministic()) return false;
    }
    return true;
  }

  /** AND of the conditions above one place; an empty AND is true. */
  private static Map place(LogicalPlan leaf, List conditions) {
    Map attributes = CatalystJson.attributes(leaf.output().iterator());
    List args = new ArrayList();
    for (Iterator it = conditions.iterator(); it.hasNext(); ) {
      args.add(CatalystJson.convert((Expression) it.next(), attributes));
    }
    return node("and", args);
  }

  /** A node of a condition, for JSON. */
  public static Map node(String op, List args) {
    Map m = new LinkedHashMap();
    m.put("op", op);
    m.put("args", args);
    return m;
  }
}
