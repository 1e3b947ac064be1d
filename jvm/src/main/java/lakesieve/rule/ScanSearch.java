package lakesieve.rule;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import lakesieve.predicate.Conditions;
import lakesieve.predicate.LeafColumns;
import lakesieve.spark.Scala;
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

  /** Create the search with adapters, without those that lack members of their libraries. */
  public ScanSearch(List<ScanAdapter> adapters) {
    for (ScanAdapter adapter : adapters) {
      try {
        adapter.check();
        this.adapters.add(adapter);
      } catch (Throwable t) {
        String reason = adapter.getClass().getSimpleName() + " is not available: " + t;
        unavailable.add(reason);
        LoggerFactory.getLogger("lakesieve").warn(reason + "; its scans stay as they are");
      }
    }
  }

  /** The reasons why adapters were left out. Their scans stay as they are. */
  public List<String> unavailable() {
    return unavailable;
  }

  /** Return all scans of a plan and of its subqueries. */
  public List<FoundScan> scans(LogicalPlan plan) {
    Walk walk = new Walk();
    walk.visit(plan, List.of(), null, null, 0);
    return walk.scans;
  }

  /** One walk through a plan, from its top to its leaves. */
  private final class Walk {
    private final Map<Object, FoundScan> seen = new IdentityHashMap<>();
    private final List<FoundScan> scans = new ArrayList<>();

    /**
     * Collect the scans at and below a node.
     *
     * @param conditions those right above the node
     * @param top the topmost of the filters and projections right above the node, or null
     * @param needed the rows of the node that the plan above needs, or null for all
     */
    void visit(
        LogicalPlan n, List<Expression> conditions, LogicalPlan top, NeededRows needed, int depth) {
      if (depth > DEEPEST_PLAN) throw new IllegalStateException("plan deeper than " + DEEPEST_PLAN);
      LogicalPlan chain = top == null ? n : top;
      for (ScanAdapter adapter : adapters) {
        Object scan = adapter.scan(n);
        if (scan == null) continue;
        FoundScan f = add(scan, n, chain, adapter, conditions);
        f.setNeeded(f.occursOnce() ? needed : null);
        return;
      }
      for (LogicalPlan subquery : Scala.list(n.subqueries())) {
        visit(subquery, List.of(), null, null, depth + 1);
      }
      boolean passes = PlanNodes.passesConditions(n);
      List<Expression> below = passes ? conditions : List.of();
      if (passes && n instanceof Filter filter) {
        below = new ArrayList<>(conditions);
        below.add(filter.condition());
      }
      for (LogicalPlan child : Scala.list(n.children())) {
        visit(child, below, passes ? chain : null, NeededRows.below(n, needed), depth + 1);
      }
    }

    private FoundScan add(
        Object scan,
        LogicalPlan leaf,
        LogicalPlan top,
        ScanAdapter adapter,
        List<Expression> conditions) {
      Object key = adapter.inPlace() ? scan : top;
      FoundScan f = seen.get(key);
      boolean isNew = f == null;
      if (isNew) {
        f = new FoundScan(scan, leaf, top, adapter, conditions);
        seen.put(key, f);
        scans.add(f);
      }
      f.addOccurrence(isNew || adapter.inPlace() ? conjunction(leaf, conditions) : null);
      return f;
    }
  }

  /** AND of the conditions above a leaf; an empty AND is true. */
  private static Map<String, Object> conjunction(LogicalPlan leaf, List<Expression> conditions) {
    LeafColumns columns = LeafColumns.of(leaf);
    List<Map<String, Object>> args = new ArrayList<>();
    for (Expression condition : conditions) args.add(Conditions.of(condition, columns));
    return node("and", args);
  }

  /** A node of a condition, for JSON. */
  public static Map<String, Object> node(String op, List<Map<String, Object>> args) {
    Map<String, Object> node = new LinkedHashMap<>();
    node.put("op", op);
    node.put("args", args);
    return node;
  }
}
