package lakesieve.rule;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import lakesieve.predicate.Conditions;
import lakesieve.predicate.ExplodedCondition;
import lakesieve.predicate.LeafColumns;
import lakesieve.spark.Scala;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Generate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
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
    walk.visit(plan, Above.NOTHING, null, null, 0);
    return walk.scans;
  }

  /**
   * What stands right above a node.
   *
   * @param conditions conditions on its rows
   * @param exploded conditions on the elements of lists and the entries of maps in its rows
   */
  private record Above(List<Expression> conditions, List<ExplodedCondition> exploded) {
    private static final Above NOTHING = new Above(List.of(), List.of());

    Above with(Expression condition) {
      List<Expression> more = new ArrayList<>(conditions);
      more.add(condition);
      return new Above(more, exploded);
    }

    /** Return what stands above the child of a node that makes a row of each element or entry. */
    Above below(Generate generate) {
      List<ExplodedCondition> more = new ArrayList<>(exploded);
      ExplodedCondition own = ExplodedCondition.of(generate, conditions);
      if (own != null) more.add(own);
      // Spark itself moves conditions on other columns below the node
      return new Above(List.of(), more);
    }

    Above below(Project project) {
      if (exploded.isEmpty()) return this;
      List<ExplodedCondition> below =
          exploded.stream().map(e -> e.below(project)).filter(Objects::nonNull).toList();
      return new Above(conditions, below);
    }

    /** AND of the conditions on the rows of a leaf; an empty AND is true. */
    Map<String, Object> conjunction(LogicalPlan leaf) {
      LeafColumns columns = LeafColumns.of(leaf);
      List<Map<String, Object>> args = new ArrayList<>();
      for (Expression condition : conditions) args.add(Conditions.of(condition, columns));
      for (ExplodedCondition condition : exploded) args.add(condition.on(columns));
      return node("and", args);
    }
  }

  /** One walk through a plan, from its top to its leaves. */
  private final class Walk {
    private final Map<Object, FoundScan> seen = new IdentityHashMap<>();
    private final List<FoundScan> scans = new ArrayList<>();

    /**
     * Collect the scans at and below a node.
     *
     * @param above what stands right above the node
     * @param top the topmost of the nodes right above it that pass conditions, or null
     * @param needed the rows of the node that the plan above needs, or null for all
     */
    void visit(LogicalPlan n, Above above, LogicalPlan top, NeededRows needed, int depth) {
      if (depth > DEEPEST_PLAN) throw new IllegalStateException("plan deeper than " + DEEPEST_PLAN);
      LogicalPlan chain = top == null ? n : top;
      for (ScanAdapter adapter : adapters) {
        Object scan = adapter.scan(n);
        if (scan == null) continue;
        FoundScan f = add(scan, n, chain, adapter, above);
        f.setNeeded(f.occursOnce() ? needed : null);
        return;
      }
      for (LogicalPlan subquery : Scala.list(n.subqueries())) {
        visit(subquery, Above.NOTHING, null, null, depth + 1);
      }
      boolean explodes = ExplodedCondition.isMadeBy(n);
      boolean passes = explodes || PlanNodes.passesConditions(n);
      Above below = passes ? above : Above.NOTHING;
      if (passes && n instanceof Filter filter) below = above.with(filter.condition());
      if (passes && n instanceof Project project) below = above.below(project);
      if (explodes) below = above.below((Generate) n);
      NeededRows rows = NeededRows.below(n, needed);
      if (depth == 0 && rows instanceof SomeRows some) rows = some.ofResult();
      for (LogicalPlan child : Scala.list(n.children())) {
        visit(child, below, passes ? chain : null, rows, depth + 1);
      }
    }

    private FoundScan add(
        Object scan, LogicalPlan leaf, LogicalPlan top, ScanAdapter adapter, Above above) {
      Object key = adapter.inPlace() ? scan : top;
      FoundScan f = seen.get(key);
      boolean isNew = f == null;
      if (isNew) {
        f = new FoundScan(scan, leaf, top, adapter, above.conditions());
        seen.put(key, f);
        scans.add(f);
      }
      f.addOccurrence(isNew || adapter.inPlace() ? above.conjunction(leaf) : null);
      return f;
    }
  }

  /** A node of a condition, for JSON. */
  public static Map<String, Object> node(String op, List<Map<String, Object>> args) {
    Map<String, Object> node = new LinkedHashMap<>();
    node.put("op", op);
    node.put("args", args);
    return node;
  }
}
