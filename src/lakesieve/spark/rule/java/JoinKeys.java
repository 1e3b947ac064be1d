package lakesieve;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.DynamicPruningSubquery;
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
 * side is small, the side is run once, its rows take its place in the plan, and the scan keeps the
 * files that can hold one of its keys. Joins are taken from the bottom up, so that a side is as small
 * as it can be before it is run. One object for each plan.
 */
public final class JoinKeys {
  private static final int FEWEST_FILES = 4;

  /** What the rule does for the joins. */
  public interface Scans {
    /** Prune a scan by all keys it has; returns what now stands for its topmost node, or null. */
    LogicalPlan prune(FoundScan f) throws Exception;

    /** Leave a leaf as it is when it is met again. */
    void met(LogicalPlan leaf);

    /** A plan as it can be run. */
    LogicalPlan runnable(LogicalPlan plan);
  }

  private final Scans scans;
  private final JoinSide limits;
  private final Map found = new IdentityHashMap(); // scan, or topmost node of its chain, to FoundScan
  private final Map replaced;
  private final Map rows = new IdentityHashMap(); // sides that ran

  /**
   * Make it for a plan.
   *
   * @param open the {@link FoundScan}s that Python answered; those refused are left
   * @param replaced nodes that stand for others already; gets more of them
   */
  public JoinKeys(Scans scans, List open, Map replaced) {
    this.scans = scans;
    this.limits = new JoinSide();
    this.replaced = replaced;
    for (Iterator it = open.iterator(); it.hasNext(); ) {
      FoundScan f = (FoundScan) it.next();
      // keys of one place say nothing of the others that read the same scan
      if (f.times == 1 && !f.row.containsKey("refusal")) this.found.put(f.adapter.inPlace() ? f.scan : f.top, f);
    }
  }

  /** Go through the plan as it was found. */
  public void apply(LogicalPlan plan) {
    if (this.limits.isOff() || this.found.isEmpty()) return;
    visit(plan, false);
    if (!this.rows.isEmpty()) samePruning(plan);
  }

  /** @param carries whether what is not matched below is carried over from one file to another */
  private void visit(LogicalPlan n, boolean carries) {
    scala.collection.Iterator expressions = n.expressions().iterator();
    while (expressions.hasNext()) visitPlans((Expression) expressions.next());
    boolean below = n instanceof MergeRows ? carriesOver((MergeRows) n) : carries && n instanceof Project;
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
   * Whether a MERGE leaves target rows without a partner as they are: of clauses about those there is
   * none but the last, with which copy-on-write carries them over.
   */
  private static boolean carriesOver(MergeRows n) {
    return n.notMatchedBySourceInstructions().size() == 1;
  }

  private void join(Join join, boolean carries) {
    if (!join.condition().isDefined()) return;
    LogicalPlan left = join.left();
    LogicalPlan right = join.right();
    List pairs = new ArrayList(); // of left and right
    PlanNodes.equalities((Expression) join.condition().get(), left, right, pairs);
    List lefts = prunable(join, pairs, true, carries);
    List rights = prunable(join, pairs, false, carries);
    boolean both = !lefts.isEmpty() && !rights.isEmpty();
    boolean leftIsSmall = both && JoinSide.size(left).$less(JoinSide.size(right));
    if (!leftIsSmall && !lefts.isEmpty() && keys(right, lefts)) return;
    if (!rights.isEmpty() && keys(left, rights)) return;
    if (leftIsSmall) keys(right, lefts);
  }

  /** The scans of one side that the keys of the other may prune. */
  private List prunable(Join join, List pairs, boolean left, boolean carries) {
    List reached = new ArrayList();
    reach(left ? join.left() : join.right(), pairs, left, null, reached);
    List scans = new ArrayList();
    for (Iterator it = reached.iterator(); it.hasNext(); ) {
      ReachedScan r = (ReachedScan) it.next();
      String type = joinType(join);
      String refusal = refusal(type, left, carries, r);
      // where the other side's rows all stay, Spark cannot broadcast them, but would shuffle the scan's
      r.filtersRows = !r.scan.rewrites && !isBroadcast(type);
      if (refusal == null) scans.add(r);
      else r.scan.left("join-unsupported", refusal);
    }
    return scans;
  }

  private static String joinType(Join join) {
    String name = join.joinType().getClass().getSimpleName();
    return name.endsWith("$") ? name.substring(0, name.length() - 1) : name;
  }

  /** Null when rows of a side without a partner are of no use. */
  private static String refusal(String type, boolean left, boolean carries, ReachedScan r) {
    if (r.scan.rewrites) {
      // whole files stay out of the command, whatever becomes of the rows in those that are read
      return carries ? null : "the command asks for rows without a partner";
    }
    if (isBroadcast(type)) return null;
    if (type.equals("RightOuter")) return left ? null : unmatched(type);
    if (type.equals("LeftOuter") || type.equals("LeftAnti") || type.equals("ExistenceJoin")) {
      return left ? unmatched(type) : null;
    }
    return unmatched(type);
  }

  /** Whether either side may lack a partner for the other's rows, so that the small one is broadcast. */
  private static boolean isBroadcast(String type) {
    return type.equals("Inner") || type.equals("Cross") || type.equals("LeftSemi");
  }

  private static String unmatched(String type) {
    return "rows without a partner count in a " + type + " join";
  }

  /**
   * The scans of which each row above comes from one row of theirs at most.
   *
   * @param pairs expressions of both sides; those of the side gone through are given in its columns
   * @param top the topmost of the filters and projections right above, or null
   */
  private void reach(LogicalPlan n, List pairs, boolean left, LogicalPlan top, List out) {
    if (n.children().isEmpty()) {
      Object key = n instanceof DataSourceV2ScanRelation ? ((DataSourceV2ScanRelation) n).scan() : null;
      FoundScan f = (FoundScan) this.found.get(key != null ? key : top == null ? n : top);
      if (f != null) reached(f, n, pairs, left, out);
      return;
    }
    if (n instanceof Filter && ((Filter) n).condition().deterministic()) {
      reach(((Filter) n).child(), pairs, left, top == null ? n : top, out);
    } else if (n instanceof Project && (PlanNodes.isDeterministic(n) || PlanNodes.namesRows((Project) n))) {
      LogicalPlan chain = PlanNodes.isDeterministic(n) ? top == null ? n : top : null;
      reach(((Project) n).child(), PlanNodes.below((Project) n, pairs, left), left, chain, out);
    } else if (n instanceof Join) {
      String type = joinType((Join) n);
      boolean both = type.equals("Inner") || type.equals("Cross");
      if (both || type.startsWith("Left") || type.equals("ExistenceJoin")) {
        reach(((Join) n).left(), pairs, left, null, out);
      }
      if (both || type.equals("RightOuter")) reach(((Join) n).right(), pairs, left, null, out);
    }
  }

  private void reached(FoundScan f, LogicalPlan leaf, List pairs, boolean left, List out) {
    ReachedScan r = new ReachedScan(f, leaf);
    Map attributes = CatalystJson.attributes(leaf.output().iterator());
    boolean answerable = false;
    if (f.leading == null || f.leading.isEmpty()) return;
    for (Iterator it = pairs.iterator(); it.hasNext(); ) {
      Expression[] pair = (Expression[]) it.next();
      Expression mine = pair[left ? 0 : 1];
      List path = CatalystJson.path(mine, attributes);
      if (path == null) continue;
      answerable = answerable || f.leading.contains(path);
      r.keys.add(new ReachedScan.Key(path, mine, pair[left ? 1 : 0]));
    }
    if (answerable) out.add(r);
    else f.left("join-unsupported", "no equality of the join that an index answers");
  }

  /** Run a side and prune scans by its keys; false when the scans are left. */
  private boolean keys(LogicalPlan side, List reached) {
    List some = new ArrayList();
    for (Iterator it = reached.iterator(); it.hasNext(); ) {
      ReachedScan r = (ReachedScan) it.next();
      if (r.scan.files() >= FEWEST_FILES) some.add(r);
    }
    if (some.isEmpty()) return false;
    String code = "join-too-large";
    String refusal;
    try {
      Side small = new Side(side, some);
      small.strip();
      refusal = small.reached.isEmpty() ? "the keys of the join are not deterministic" : null;
      if (refusal != null) code = "join-unsupported";
      LogicalPlan now =
          (LogicalPlan) small.plan.transformDownWithSubqueries(new Replacement(this.replaced));
      if (refusal == null) refusal = this.limits.refusal(now);
      if (refusal == null) {
        prune(small, run(small.plan, now));
        return true;
      }
    } catch (JoinSide.TooLargeException e) {
      refusal = e.getMessage();
    } catch (JoinSide.CancelledException e) {
      throw e;
    } catch (Throwable t) {
      code = "internal-error";
      refusal = "keys of a join: " + t;
    }
    for (Iterator it = some.iterator(); it.hasNext(); ) ((ReachedScan) it.next()).scan.left(code, refusal);
    return false;
  }

  private InternalRow[] run(LogicalPlan plan, LogicalPlan now) throws Exception {
    InternalRow[] rows = known(plan);
    if (rows == null) rows = this.limits.run(now instanceof LocalRelation ? now : this.scans.runnable(now));
    this.rows.put(plan, rows);
    if (!(now instanceof LocalRelation)) this.replaced.put(plan, JoinSide.relation(plan, rows));
    return rows;
  }

  /** Rows of the same side in another place, as MERGE has its source twice. */
  private InternalRow[] known(LogicalPlan plan) {
    for (Iterator it = this.rows.keySet().iterator(); it.hasNext(); ) {
      LogicalPlan side = (LogicalPlan) it.next();
      if (side == plan || side.sameResult(plan)) return (InternalRow[]) this.rows.get(side);
    }
    return null;
  }

  private void prune(Side side, InternalRow[] rows) throws Exception {
    for (Iterator it = side.reached.iterator(); it.hasNext(); ) {
      ReachedScan r = (ReachedScan) it.next();
      try {
        Expression condition = r.take(side.plan.output(), rows);
        LogicalPlan top = this.scans.prune(r.scan);
        if (top != null) this.replaced.put(r.scan.top, top);
        if (condition != null) this.scans.met(r.filter(condition, top, this.replaced));
      } catch (UnsupportedOperationException e) {
        r.scan.left("join-unsupported", e.getMessage());
      }
    }
  }

  /** The other side of a join. */
  public static final class Side {
    public LogicalPlan plan;
    public final List reached;

    public Side(LogicalPlan plan, List reached) {
      this.plan = plan;
      this.reached = new ArrayList(reached);
    }

    /**
     * Leave what is not deterministic at its top, such as the counting of rows, to the query: its keys
     * are among those below.
     */
    public void strip() {
      LogicalPlan last = null;
      LogicalPlan n = this.plan;
      for (; n instanceof Filter || n instanceof Project; n = (LogicalPlan) n.children().apply(0)) {
        if (PlanNodes.isDeterministic(n)) continue;
        last = n;
        if (PlanNodes.namesFiles(n)) {
          this.reached.clear();
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
      for (Iterator it = this.reached.iterator(); it.hasNext(); ) {
        ReachedScan r = (ReachedScan) it.next();
        List keys = new ArrayList();
        for (Iterator of = r.keys.iterator(); of.hasNext(); ) {
          ReachedScan.Key key = (ReachedScan.Key) of.next();
          List pairs = new ArrayList();
          pairs.add(new Expression[] {null, key.other});
          List rewritten = PlanNodes.below(p, pairs, false);
          if (rewritten.isEmpty()) continue;
          keys.add(new ReachedScan.Key(key.path, key.column, ((Expression[]) rewritten.get(0))[1]));
        }
        r.keys = keys;
        if (keys.isEmpty()) it.remove();
      }
    }
  }

  /** Have partition pruning use the rows of the sides that ran. */
  private void samePruning(LogicalPlan n) {
    scala.collection.Iterator expressions = n.expressions().iterator();
    while (expressions.hasNext()) samePruning((Expression) expressions.next());
    scala.collection.Iterator children = n.children().iterator();
    while (children.hasNext()) samePruning((LogicalPlan) children.next());
  }

  private void samePruning(Expression e) {
    if (e instanceof DynamicPruningSubquery) {
      LogicalPlan build = ((DynamicPruningSubquery) e).buildQuery();
      for (Iterator it = this.rows.keySet().iterator(); it.hasNext(); ) {
        LogicalPlan side = (LogicalPlan) it.next();
        if (side == build || !side.sameResult(build)) continue;
        try {
          this.replaced.put(build, JoinSide.relation(build, (InternalRow[]) this.rows.get(side)));
        } catch (Exception failed) {
          return; // it runs the side on its own then
        }
      }
    } else if (e instanceof PlanExpression) {
      samePruning((LogicalPlan) ((PlanExpression) e).plan());
    }
    scala.collection.Iterator children = e.children().iterator();
    while (children.hasNext()) samePruning((Expression) children.next());
  }
}
