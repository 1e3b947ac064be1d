package lakesieve;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.slf4j.LoggerFactory;

/** Finds the scans of a plan, with the conditions above each. */
public final class ScanSearch {
  /** Depth of the deepest plan that is searched, in nodes. */
  public static final int DEEPEST_PLAN = 500;

  private final List<ScanAdapter> adapters = new ArrayList<>();
  private final List<String> unavailable = new ArrayList<>();

  /** Make it of the adapters, without those that miss something of their libraries. */
  public ScanSearch(ScanAdapter[] adapters) {
    for (ScanAdapter adapter : adapters) {
      try {
        adapter.check();
        this.adapters.add(adapter);
      } catch (Throwable t) {
        String reason = adapter.getClass().getSimpleName() + " is not available: " + t;
        this.unavailable.add(reason);
        LoggerFactory.getLogger("lakesieve").warn(reason + "; its scans stay as they are");
      }
    }
  }

  /** The reasons why adapters were left out: their scans stay as they are. */
  public List<String> unavailable() {
    return this.unavailable;
  }

  /** All scans of a plan and of its subqueries. */
  public List<FoundScan> scans(LogicalPlan plan) {
    List<FoundScan> found = new ArrayList<>();
    collect(plan, new ArrayList<>(), null, new IdentityHashMap<>(), found, 0);
    return found;
  }

  private void collect(
      LogicalPlan n,
      List<Expression> conditions,
      LogicalPlan top,
      Map<Object, FoundScan> seen,
      List<FoundScan> out,
      int depth) {
    if (depth > DEEPEST_PLAN) throw new IllegalStateException("plan deeper than " + DEEPEST_PLAN);
    LogicalPlan chain = top == null ? n : top;
    for (ScanAdapter adapter : this.adapters) {
      Object scan = adapter.scan(n);
      if (scan == null) continue;
      Object key = adapter.inPlace() ? scan : chain;
      FoundScan f = (FoundScan) seen.get(key);
      boolean isNew = f == null;
      if (isNew) {
        f = new FoundScan();
        f.scan = scan;
        f.leaf = n;
        f.top = chain;
        f.adapter = adapter;
        f.above = conditions;
        seen.put(key, f);
        out.add(f);
      }
      if (isNew || adapter.inPlace()) f.conditions.add(conjunction(n, conditions));
      f.times++;
      return;
    }
    scala.collection.Iterator subqueries = n.subqueries().iterator();
    while (subqueries.hasNext()) {
      collect((LogicalPlan) subqueries.next(), new ArrayList<>(), null, seen, out, depth + 1);
    }
    List<Expression> below = new ArrayList<>();
    boolean passes = PlanNodes.passesConditions(n);
    if (passes) below.addAll(conditions);
    if (passes && n instanceof Filter) below.add(((Filter) n).condition());
    scala.collection.Iterator children = n.children().iterator();
    while (children.hasNext()) {
      LogicalPlan child = (LogicalPlan) children.next();
      collect(child, below, passes ? chain : null, seen, out, depth + 1);
    }
  }

  /** AND of the conditions above a leaf; an empty AND is true. */
  private static Map<String, Object> conjunction(LogicalPlan leaf, List<Expression> conditions) {
    Map<ExprId, String> attributes = CatalystJson.attributes(leaf.output().iterator());
    List<Map<String, Object>> args = new ArrayList<>();
    for (Expression condition : conditions) args.add(CatalystJson.convert(condition, attributes));
    return node("and", args);
  }

  /** A node of a condition, for JSON. */
  public static Map<String, Object> node(String op, List<Map<String, Object>> args) {
    Map<String, Object> m = new LinkedHashMap<>();
    m.put("op", op);
    m.put("args", args);
    return m;
  }
}
