package lakesieve;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.DynamicPruningSubquery;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeRows;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;

/**
 * Takes files out of scans by the keys of the joins above them.
 *
 * <p>Where rows of a scan are of no use without a partner in the other side of an equi-join, and that
 * side is small, the side is run once, its rows replace it in the plan, and the scan keeps the
 * files that can hold one of its keys. Joins are taken from the bottom up, so that a side is as small
 * as it can be before it is run. One object for each plan.
 */
public final class JoinKeys {
  private static final int FEWEST_FILES = 4;

  /** What the rule does for the joins. */
  public interface Scans {
    /** Prune a scan by all keys it has; returns what replaces its topmost node, or null. */
    LogicalPlan prune(FoundScan f) throws Exception;

    /** Leave a leaf as it is when it is visited again. */
    void markVisited(LogicalPlan leaf);

    /** The plan in a form that can be run. */
    LogicalPlan runnable(LogicalPlan plan);
  }

  private final Scans scans;
  private final JoinSide limits;
  // by the scan, or by the topmost node of its chain
  private final Map<Object, FoundScan> found = new IdentityHashMap<>();
  private final Map<LogicalPlan, LogicalPlan> replaced;
  // of the sides that ran
  private final Map<LogicalPlan, InternalRow[]> rows = new IdentityHashMap<>();

  /**
   * Make it for a plan.
   *
   * @param open those that Python answered; those refused stay as they are
   * @param replaced other nodes by those that they replace; gets more of them
   */
  public JoinKeys(Scans scans, List<FoundScan> open, Map<LogicalPlan, LogicalPlan> replaced) {
    this.scans = scans;
    this.limits = new JoinSide();
    this.replaced = replaced;
    for (FoundScan f : open) {
      // keys of one occurrence say nothing of the others of the same scan
      if (f.times != 1 || f.row.containsKey("refusal")) continue;
      this.found.put(f.adapter.inPlace() ? f.scan : f.top, f);
    }
  }

  /** Prune the scans of the plan as it was found. */
  public void apply(LogicalPlan plan) {
    if (this.limits.isOff() || this.found.isEmpty()) return;
    visit(plan, false);
    if (!this.rows.isEmpty()) reuseRows(plan);
  }

  /** @param carries whether what is not matched below is carried over from one file to another */
  private void visit(LogicalPlan n, boolean carries) {
    scala.collection.Iterator expressions = n.expressions().iterator();
    while (expressions.hasNext()) visitPlans((Expression) expressions.next());
    boolean below =
        n instanceof MergeRows ? carriesOver((MergeRows) n) : carries && n instanceof Project;
    scala.collection.Iterator children = n.children().iterator();
    while (children.hasNext()) visit((LogicalPlan) children.next(), below);
    if (n instanceof Join) join((Join) n, carries);
  }

  private void visitPlans(Expression e) {
    // the copy of a join's side, for partition pruning, changes with the side itself
    if (e instanceof DynamicPruningSubquery) return;
    if (e instanceof PlanExpression) visit((LogicalPlan) ((PlanExpression) e).plan(), false);
    scala.collection.Iterator children = e.children().iterator();
    while (children.hasNext()) visitPlans((Expression) children.next());
  }

  /**
   * Whether a MERGE leaves target rows without a partner as they are: the only clause about those is
   * the last, with which copy-on-write carries them over.
   */
  private static boolean carriesOver(MergeRows n) {
    return n.notMatchedBySourceInstructions().size() == 1;
  }

  private void join(Join join, boolean carries) {
    if (!join.condition().isDefined()) return;
    LogicalPlan left = join.left();
    LogicalPlan right = join.right();
    List<Expression[]> pairs = new ArrayList<>(); // of left and right
    PlanNodes.equalities((Expression) join.condition().get(), left, right, pairs);
    List<JoinedScan> lefts = prunable(join, pairs, true, carries);
    List<JoinedScan> rights = prunable(join, pairs, false, carries);
    boolean both = !lefts.isEmpty() && !rights.isEmpty();
    boolean leftIsSmall = both && JoinSide.size(left).$less(JoinSide.size(right));
    if (!leftIsSmall && !lefts.isEmpty() && pruneByKeys(right, lefts)) return;
    if (!rights.isEmpty() && pruneByKeys(left, rights)) return;
    if (leftIsSmall) pruneByKeys(right, lefts);
  }

  /** The scans of one side that the keys of the other may prune. */
  private List<JoinedScan> prunable(
      Join join, List<Expression[]> pairs, boolean left, boolean carries) {
    List<JoinedScan> joined = new ArrayList<>();
    findScans(left ? join.left() : join.right(), pairs, left, null, joined);
    List<JoinedScan> result = new ArrayList<>();
    String type = joinType(join);
    for (JoinedScan j : joined) {
      String refusal = refusal(type, left, carries, j);
      // where the other side's rows all stay, Spark cannot broadcast them, but would shuffle the scan's
      j.filtersRows = !j.scan.rewrites && !isBroadcast(type);
      if (refusal == null) result.add(j);
      else j.scan.skipped("join-unsupported", refusal);
    }
    return result;
  }

  private static String joinType(Join join) {
    String name = join.joinType().getClass().getSimpleName();
    return name.endsWith("$") ? name.substring(0, name.length() - 1) : name;
  }

  /** Null when rows of a side without a partner are of no use. */
  private static String refusal(String type, boolean left, boolean carries, JoinedScan j) {
    if (j.scan.rewrites) {
      // whole files stay out of the command, whatever becomes of the rows in those that are read
      return carries ? null : "the command asks for rows without a partner";
    }
    boolean matters;
    switch (type) {
      case "Inner":
      case "Cross":
      case "LeftSemi":
        matters = false;
        break;
      case "RightOuter":
        matters = !left;
        break;
      case "LeftOuter":
      case "LeftAnti":
      case "ExistenceJoin":
        matters = left;
        break;
      default:
        matters = true;
    }
    return matters ? "rows without a partner count in a " + type + " join" : null;
  }

  /** Whether either side may lack partners for the other's rows, so that the small one is broadcast. */
  private static boolean isBroadcast(String type) {
    return type.equals("Inner") || type.equals("Cross") || type.equals("LeftSemi");
  }

  /**
   * Find the scans that give each row of a side at most one row.
   *
   * @param pairs expressions of both sides; those of the side searched are given in its columns
   * @param top the topmost of the filters and projections right above, or null
   * @param out gets the scans
   */
  private void findScans(
      LogicalPlan n, List<Expression[]> pairs, boolean left, LogicalPlan top, List<JoinedScan> out) {
    if (n.children().isEmpty()) {
      Object key = top == null ? n : top;
      if (n instanceof DataSourceV2ScanRelation) key = ((DataSourceV2ScanRelation) n).scan();
      FoundScan f = (FoundScan) this.found.get(key);
      if (f != null) addIfAnswerable(f, n, pairs, left, out);
      return;
    }
    LogicalPlan chain = top == null ? n : top;
    if (n instanceof Filter && PlanNodes.passesConditions(n)) {
      findScans(((Filter) n).child(), pairs, left, chain, out);
    } else if (n instanceof Project && PlanNodes.passesConditions(n)) {
      List<Expression[]> below = PlanNodes.below((Project) n, pairs, left);
      findScans(((Project) n).child(), below, left, chain, out);
    } else if (n instanceof Join) {
      String type = joinType((Join) n);
      boolean both = type.equals("Inner") || type.equals("Cross");
      if (both || type.startsWith("Left") || type.equals("ExistenceJoin")) {
        findScans(((Join) n).left(), pairs, left, null, out);
      }
      if (both || type.equals("RightOuter")) {
        findScans(((Join) n).right(), pairs, left, null, out);
      }
    }
  }

  private static void addIfAnswerable(
      FoundScan f, LogicalPlan leaf, List<Expression[]> pairs, boolean left, List<JoinedScan> out) {
    if (f.leading == null || f.leading.isEmpty()) return;
    JoinedScan joined = new JoinedScan(f, leaf);
    Map<ExprId, String> attributes = CatalystJson.attributes(leaf.output().iterator());
    boolean answerable = false;
    for (Expression[] pair : pairs) {
      Expression column = pair[left ? 0 : 1];
      List<String> path = CatalystJson.path(column, attributes);
      if (path == null) continue;
      answerable = answerable || f.leading.contains(path);
      joined.keys.add(new JoinedScan.Key(path, column, pair[left ? 1 : 0]));
    }
    if (answerable) out.add(joined);
    else f.skipped("join-unsupported", "no equality of the join that an index answers");
  }

  /** Run a side and prune scans by its keys; false when the scans stay as they are. */
  private boolean pruneByKeys(LogicalPlan side, List<JoinedScan> joined) {
    List<JoinedScan> worthwhile = new ArrayList<>();
    for (JoinedScan j : joined) {
      if (j.scan.files() >= FEWEST_FILES) worthwhile.add(j);
    }
    if (worthwhile.isEmpty()) return false;
    String code = "join-too-large";
    String refusal;
    try {
      Side small = new Side(side, worthwhile);
      small.strip();
      refusal = small.joined.isEmpty() ? "the keys of the join are not deterministic" : null;
      if (refusal != null) code = "join-unsupported";
      LogicalPlan current =
          (LogicalPlan) small.plan.transformDownWithSubqueries(new Replacement(this.replaced));
      if (refusal == null) refusal = this.limits.refusal(current);
      if (refusal == null) {
        prune(small, run(small.plan, current));
        return true;
      }
    } catch (JoinSide.TooLargeException e) {
      refusal = e.getMessage();
    } catch (JoinSide.CancelledException e) {
      throw e;
    } catch (Throwable t) {
      code = NoAnswerException.codeOf(t);
      refusal = "keys of a join: " + NoAnswerException.detailOf(t);
    }
    for (JoinedScan j : worthwhile) j.scan.skipped(code, refusal);
    return false;
  }

  private InternalRow[] run(LogicalPlan plan, LogicalPlan current) throws Exception {
    boolean isLocal = current instanceof LocalRelation;
    InternalRow[] rows = known(plan);
    if (rows == null) rows = this.limits.run(isLocal ? current : this.scans.runnable(current));
    this.rows.put(plan, rows);
    if (!isLocal) this.replaced.put(plan, JoinSide.relation(plan, rows));
    return rows;
  }

  /** Rows of the same side elsewhere in the plan, as MERGE has its source twice. */
  private InternalRow[] known(LogicalPlan plan) {
    for (LogicalPlan side : this.rows.keySet()) {
      if (side == plan || side.sameResult(plan)) return (InternalRow[]) this.rows.get(side);
    }
    return null;
  }

  private void prune(Side side, InternalRow[] rows) throws Exception {
    for (JoinedScan j : side.joined) {
      try {
        Expression condition = j.addKeys(side.plan.output(), rows);
        LogicalPlan top = this.scans.prune(j.scan);
        if (top != null) this.replaced.put(j.scan.top, top);
        if (condition != null) this.scans.markVisited(j.filter(condition, top, this.replaced));
      } catch (UnsupportedOperationException e) {
        j.scan.skipped("join-unsupported", e.getMessage());
      }
    }
  }

  /** The other side of a join, with the scans that its keys prune. */
  public static final class Side {
    public LogicalPlan plan;
    public final List<JoinedScan> joined;

    /** Make it of a plan and the scans that its keys prune. */
    public Side(LogicalPlan plan, List<JoinedScan> joined) {
      this.plan = plan;
      this.joined = new ArrayList<>(joined);
    }

    /**
     * Take off what is not deterministic at its top, such as the numbering of rows, which is left to
     * the query: its keys are among those below.
     */
    public void strip() {
      LogicalPlan last = null;
      LogicalPlan n = this.plan;
      for (; n instanceof Filter || n instanceof Project; n = (LogicalPlan) n.children().apply(0)) {
        if (PlanNodes.isDeterministic(n)) continue;
        last = n;
        if (PlanNodes.namesFiles(n)) {
          this.joined.clear();
          return;
        }
      }
      while (last != null) {
        n = this.plan;
        this.plan = (LogicalPlan) n.children().apply(0);
        if (n instanceof Project) throughProject((Project) n);
        if (n == last) return;
      }
    }

    private void throughProject(Project p) {
      for (Iterator<JoinedScan> it = this.joined.iterator(); it.hasNext(); ) {
        JoinedScan j = (JoinedScan) it.next();
        List<JoinedScan.Key> keys = new ArrayList<>();
        for (JoinedScan.Key key : j.keys) {
          List<Expression[]> pairs = new ArrayList<>();
          pairs.add(new Expression[] {null, key.other});
          for (Expression[] pair : PlanNodes.below(p, pairs, false)) {
            keys.add(new JoinedScan.Key(key.path, key.column, pair[1]));
          }
        }
        j.keys = keys;
        if (keys.isEmpty()) it.remove();
      }
    }
  }

  /** Have partition pruning use the rows of the sides that ran. */
  private void reuseRows(LogicalPlan n) {
    scala.collection.Iterator expressions = n.expressions().iterator();
    while (expressions.hasNext()) reuseRows((Expression) expressions.next());
    scala.collection.Iterator children = n.children().iterator();
    while (children.hasNext()) reuseRows((LogicalPlan) children.next());
  }

  private void reuseRows(Expression e) {
    if (e instanceof DynamicPruningSubquery) {
      LogicalPlan build = ((DynamicPruningSubquery) e).buildQuery();
      for (LogicalPlan side : this.rows.keySet()) {
        if (side == build || !side.sameResult(build)) continue;
        try {
          this.replaced.put(build, JoinSide.relation(build, (InternalRow[]) this.rows.get(side)));
        } catch (Exception failed) {
          return; // it runs the side once more then
        }
      }
    } else if (e instanceof PlanExpression) {
      reuseRows((LogicalPlan) ((PlanExpression) e).plan());
    }
    scala.collection.Iterator children = e.children().iterator();
    while (children.hasNext()) reuseRows((Expression) children.next());
  }
}
