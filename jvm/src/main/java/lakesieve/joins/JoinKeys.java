package lakesieve.joins;

import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import lakesieve.rule.FoundScan;
import lakesieve.rule.NoAnswerException;
import lakesieve.rule.Replacement;
import lakesieve.spark.Scala;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.DynamicPruningSubquery;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeRows;
import org.apache.spark.sql.catalyst.plans.logical.Project;

/**
 * Skips files of scans by the keys of the joins above them.
 *
 * <p>This applies if the join drops rows of the scan without a match on the other side, and if that
 * side is small. The side is run once, and its rows replace it in the plan. The scan keeps the
 * files that may hold one of its keys. Joins are handled from the bottom up, so that a side is as
 * small as possible before it is run. Each plan has its own object.
 */
public final class JoinKeys {
  private static final int FEWEST_FILES = 4;

  /** The rule's operations for joins. */
  public interface Scans {
    /** Prune a scan by all of its keys. Return the node that replaces its topmost node, or null. */
    LogicalPlan prune(FoundScan f) throws Exception;

    /** Skip a leaf when it is visited again. */
    void markVisited(LogicalPlan leaf);

    /** The plan in a form that can be run. */
    LogicalPlan runnable(LogicalPlan plan);
  }

  private final Scans scans;
  private final JoinSide limits;
  private final PrunableScans prunable;
  private final Map<LogicalPlan, LogicalPlan> replaced;
  // rows of the sides that ran
  private final Map<LogicalPlan, InternalRow[]> rows = new IdentityHashMap<>();

  /**
   * Make it for a plan.
   *
   * @param open scans that Python was asked about; refused ones stay as they are
   * @param replaced other nodes by those that they replace; gets more of them
   */
  public JoinKeys(Scans scans, List<FoundScan> open, Map<LogicalPlan, LogicalPlan> replaced) {
    this.scans = scans;
    this.limits = new JoinSide();
    this.prunable = new PrunableScans(open);
    this.replaced = replaced;
  }

  /** Prune the scans of the plan as it was found. */
  public void apply(LogicalPlan plan) {
    if (limits.isOff() || prunable.isEmpty()) return;
    visit(plan, false);
    if (!rows.isEmpty()) reuseRows(plan);
  }

  /**
   * @param carries whether what is not matched below is carried over from one file to another
   */
  private void visit(LogicalPlan n, boolean carries) {
    for (Expression e : Scala.list(n.expressions())) visitPlans(e);
    boolean below =
        n instanceof MergeRows merge ? carriesOver(merge) : carries && n instanceof Project;
    for (LogicalPlan child : Scala.list(n.children())) visit(child, below);
    if (n instanceof Join join) visitJoin(join, carries);
  }

  private void visitPlans(Expression e) {
    // the copy of a join's side for partition pruning changes together with the side
    if (e instanceof DynamicPruningSubquery) return;
    if (e instanceof PlanExpression<?> expression) visit((LogicalPlan) expression.plan(), false);
    for (Expression child : Scala.list(e.children())) visitPlans(child);
  }

  /**
   * Whether a MERGE leaves unmatched target rows as they are: its only clause about them is the
   * last one, with which copy-on-write carries them over.
   */
  private static boolean carriesOver(MergeRows n) {
    return n.notMatchedBySourceInstructions().size() == 1;
  }

  private void visitJoin(Join join, boolean carries) {
    if (join.condition().isEmpty()) return;
    List<EqualPair> pairs = EqualPair.of(join);
    List<JoinedScan> lefts = prunable.of(join, pairs, true, carries);
    List<JoinedScan> rights = prunable.of(join, pairs, false, carries);
    boolean both = !lefts.isEmpty() && !rights.isEmpty();
    boolean leftIsSmall =
        both && JoinSide.size(join.left()).compare(JoinSide.size(join.right())) < 0;
    if (!leftIsSmall && !lefts.isEmpty() && pruneByKeys(join.right(), lefts)) return;
    if (!rights.isEmpty() && pruneByKeys(join.left(), rights)) return;
    if (leftIsSmall) pruneByKeys(join.right(), lefts);
  }

  /** Run a side and prune scans by its keys. Return false if the scans stay as they are. */
  private boolean pruneByKeys(LogicalPlan side, List<JoinedScan> joined) {
    List<JoinedScan> worthwhile =
        joined.stream().filter(each -> isWorthwhile(each.scan())).toList();
    if (worthwhile.isEmpty()) return false;
    String code = "join-too-large";
    String refusal;
    try {
      SmallSide small = SmallSide.of(side, worthwhile);
      LogicalPlan current = small.plan().transformDownWithSubqueries(new Replacement(replaced));
      if (small.joined().isEmpty()) {
        code = "join-unsupported";
        refusal = "the keys of the join are not deterministic";
      } else {
        refusal = limits.refusal(current);
      }
      if (refusal == null) {
        prune(small, run(small.plan(), current));
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
    for (JoinedScan each : worthwhile) each.scan().skipped(code, refusal);
    return false;
  }

  /** Whether keys can save time: they leave out files, or row blocks of files. */
  private static boolean isWorthwhile(FoundScan scan) {
    if (scan.files() >= FEWEST_FILES) return true;
    return scan.files() > 0 && scan.hasRowBlocks() && !scan.isRewritten();
  }

  private InternalRow[] run(LogicalPlan plan, LogicalPlan current) throws Exception {
    boolean isLocal = current instanceof LocalRelation;
    InternalRow[] found = known(plan);
    if (found == null) found = limits.run(isLocal ? current : scans.runnable(current));
    rows.put(plan, found);
    if (!isLocal) replaced.put(plan, JoinSide.relation(plan, found));
    return found;
  }

  /** The rows of an equal side elsewhere in the plan, or null. MERGE has its source twice. */
  private InternalRow[] known(LogicalPlan plan) {
    for (var side : rows.entrySet()) {
      if (side.getKey() == plan || side.getKey().sameResult(plan)) return side.getValue();
    }
    return null;
  }

  private void prune(SmallSide side, InternalRow[] found) throws Exception {
    for (JoinedScan joined : side.joined()) {
      FoundScan scan = joined.scan();
      try {
        Expression condition = joined.addKeys(side.plan().output(), found);
        LogicalPlan top = scans.prune(scan);
        if (top != null) replaced.put(scan.top, top);
        if (condition != null) scans.markVisited(joined.filter(condition, top, replaced));
      } catch (UnsupportedOperationException e) {
        scan.skipped("join-unsupported", e.getMessage());
      }
    }
  }

  /** Let partition pruning use the rows of the sides that ran. */
  private void reuseRows(LogicalPlan n) {
    for (Expression e : Scala.list(n.expressions())) reuseRows(e);
    for (LogicalPlan child : Scala.list(n.children())) reuseRows(child);
  }

  private void reuseRows(Expression e) {
    if (e instanceof DynamicPruningSubquery subquery) {
      LogicalPlan build = subquery.buildQuery();
      for (var side : rows.entrySet()) {
        if (side.getKey() == build || !side.getKey().sameResult(build)) continue;
        try {
          replaced.put(build, JoinSide.relation(build, side.getValue()));
        } catch (ReflectiveOperationException failed) {
          return; // then it runs the side once more
        }
      }
    } else if (e instanceof PlanExpression<?> expression) {
      reuseRows((LogicalPlan) expression.plan());
    }
    for (Expression child : Scala.list(e.children())) reuseRows(child);
  }
}
