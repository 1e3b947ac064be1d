package lakesieve.rule;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import lakesieve.deletes.ScanJoins;
import lakesieve.files.IdentitySet;
import lakesieve.joins.JoinKeys;
import lakesieve.joins.JoinSide;
import org.apache.spark.sql.catalyst.plans.logical.DeleteFromTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Subquery;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.internal.SQLConf;

/**
 * The optimizer rule. It finds scans in the finished plan, asks Python once which files may hold a
 * match, and removes the other files from the scans. After any failure, the scan stays as it was.
 */
public final class PruningRule extends Rule<LogicalPlan> {
  /** The option of raw reads: a stride, and the name of a selection of files if there is one. */
  public static final String RAW_READ = "lakesieve-raw-read";

  /** The setting that turns skipping off for a session, or for some of its queries. */
  public static final String ENABLED = "spark.lakesieve.enabled";

  private final ScanPruner pruner;
  private final ScanSearch search;
  private final ScanJoins joins;
  // set while plans that this rule makes are optimized: the scans of the plan that it prunes
  private final ThreadLocal<List<FoundScan>> pruning = new ThreadLocal<>();
  private final VisitedScans visited = new VisitedScans();
  private final RawReads rawReads = new RawReads();
  private final ScanReport report = new ScanReport();
  private volatile boolean active = false;

  /**
   * Make the rule of a session.
   *
   * @param python answers requests, both as JSON
   * @param joins what replaces scans that need too much memory, or null
   */
  PruningRule(Function<String, String> python, List<ScanAdapter> adapters, ScanJoins joins) {
    this.pruner = new ScanPruner(python);
    this.search = new ScanSearch(adapters);
    this.joins = joins;
  }

  /** Turn pruning of scans on or off. */
  public void setActive(boolean active) {
    this.active = active;
  }

  /** True while scans are pruned. */
  public boolean isActive() {
    return active;
  }

  /** What the latest query with a scan of a known format did, as JSON. */
  public String report() {
    return report.text();
  }

  /** The same for a query that reads the report while it is analyzed. */
  public String readReport() {
    return report.read();
  }

  /** Forget what the latest query did. */
  public void forget() {
    report.clear();
  }

  /** Add files to a selection, separated by U+0000, for raw reads of only these files. */
  public void select(String name, String joined) {
    rawReads.select(name, joined.split("\0", -1));
  }

  /** Forget a selection. */
  public void deselect(String name) {
    rawReads.deselect(name);
  }

  /** True for plans whose scans are pruned, false for plans that this rule makes. */
  public boolean prunes() {
    return isOn() && pruning.get() == null;
  }

  private boolean isOn() {
    return active && !SQLConf.get().getConfString(ENABLED, "true").equals("false");
  }

  /** Prune the scans of a plan. */
  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    // a subquery is optimized alone first; its scans are visited again as part of the outer plan
    if (plan instanceof Subquery || pruning.get() != null) return plan;
    boolean on = isOn();
    if (on) report.begin(plan);
    // a DELETE stays in the plan only if it deletes all rows; then its relation is never read
    if (plan instanceof DeleteFromTable) return plan;
    List<FoundScan> scans = List.of();
    Map<LogicalPlan, LogicalPlan> replaced = new IdentityHashMap<>();
    LogicalPlan pruned = plan;
    try {
      scans = search.scans(plan);
      List<FoundScan> deferred = deferred(scans);
      if (!deferred.isEmpty() && !keepsFew(plan, deferred, on, replaced)) {
        pruned =
            deferred.get(0).adapter.restored(plan, deferred.stream().map(f -> f.leaf).toList());
        replaced.clear();
        scans = search.scans(pruned);
      }
      prune(pruned, scans, on, replaced);
    } catch (JoinSide.CancelledException e) {
      throw e;
    } catch (Throwable t) {
      reportFailure(t);
    }
    // scans without files for other rows of a join need exactly these rows, so failures are not
    // caught
    if (!replaced.isEmpty()) {
      pruned = pruned.transformDownWithSubqueries(new Replacement(replaced));
    }
    return on && joins != null ? joinDeletes(pruned, scans) : pruned;
  }

  /** Prune scans of one format before it plans them. They are visited again after that. */
  public void pruneEarly(LogicalPlan plan, ScanAdapter adapter) throws Exception {
    List<FoundScan> open = new ArrayList<>();
    for (FoundScan f : search.scans(plan)) {
      if (f.adapter != adapter || !adapter.isOpen(f.leaf)) continue;
      if (adapter.option(f.leaf, RAW_READ) == null) open.add(f);
    }
    // marked, because Spark may still replace two equal scans by one
    if (!open.isEmpty()) pruner.prune(plan, open, new IdentityHashMap<>(), true);
  }

  private List<FoundScan> deferred(List<FoundScan> scans) {
    IdentitySet known = visited.leavesOfRun();
    return scans.stream()
        .filter(f -> f.adapter.isDeferred(f.leaf) && !known.contains(f.leaf))
        .toList();
  }

  /**
   * Prune the deferred scans. Return true if each scan keeps few files, so that the table format
   * would hardly skip more.
   */
  private boolean keepsFew(
      LogicalPlan plan,
      List<FoundScan> deferred,
      boolean on,
      Map<LogicalPlan, LogicalPlan> replaced)
      throws Exception {
    if (!on) return false;
    pruner.prune(plan, deferred, replaced, false);
    return deferred.stream().allMatch(f -> f.adapter.keepsFew(f.leaf, f.files(), f.isExact()));
  }

  /** Prune the scans that were not visited before, and set up raw reads. */
  private void prune(
      LogicalPlan plan, List<FoundScan> scans, boolean on, Map<LogicalPlan, LogicalPlan> replaced)
      throws Exception {
    if (scans.isEmpty()) return;
    IdentitySet known = visited.leavesOfRun();
    List<FoundScan> open = new ArrayList<>();
    List<FoundScan> fresh = new ArrayList<>();
    for (FoundScan f : scans) {
      boolean isNew =
          f.adapter.inPlace() ? visited.changedInPlace().add(f.scan) : !known.contains(f.leaf);
      if (!isNew) continue;
      fresh.add(f);
      String raw = f.adapter.option(f.leaf, RAW_READ);
      if (raw != null) rawReads.read(f, raw, replaced);
      else if (on) open.add(f);
    }
    // replace all leaves at once, because a leaf may occur several times
    for (FoundScan f : fresh) known.add(f.leaf);
    if (open.isEmpty()) return;
    // deferred scans are pruned already
    List<FoundScan> left = open.stream().filter(f -> f.outcome == null).toList();
    pruner.prune(plan, left, replaced, false);
    pruneByKeys(plan, scans, open, replaced);
  }

  /** Skip files by the keys of joins, and report all scans. */
  private void pruneByKeys(
      LogicalPlan plan,
      List<FoundScan> scans,
      List<FoundScan> open,
      Map<LogicalPlan, LogicalPlan> replaced) {
    pruning.set(scans);
    try {
      new JoinKeys(new ScansOfJoins(scans), open, replaced).apply(plan);
    } catch (JoinSide.CancelledException e) {
      throw e;
    } catch (Throwable t) {
      String detail = "keys of joins: " + NoAnswerException.detailOf(t);
      for (FoundScan f : open) f.skipped(NoAnswerException.codeOf(t), detail);
    } finally {
      pruning.remove();
    }
    report.report(open.stream().map(each -> each.outcome).toList());
  }

  /** What the rule does for the joins of a plan with some scans. */
  private final class ScansOfJoins implements JoinKeys.Scans {
    private final List<FoundScan> scans;

    ScansOfJoins(List<FoundScan> scans) {
      this.scans = scans;
    }

    @Override
    public LogicalPlan prune(FoundScan f) throws Exception {
      return pruner.pruneByKeys(f);
    }

    @Override
    public void markVisited(LogicalPlan leaf) {
      visited.leavesOfRun().add(leaf);
    }

    @Override
    public LogicalPlan runnable(LogicalPlan plan) {
      if (joins == null) return plan;
      return joins.apply(plan, scans, new IdentityHashMap<>(), visited.changedInPlace());
    }
  }

  /** Replace scans whose deletes need too much memory. */
  private LogicalPlan joinDeletes(LogicalPlan plan, List<FoundScan> scans) {
    Map<Object, String> outcomes = new IdentityHashMap<>();
    pruning.set(scans);
    try {
      return joins.apply(plan, scans, outcomes, visited.changedInPlace());
    } catch (Throwable t) {
      reportFailure(t);
      return plan;
    } finally {
      pruning.remove();
      reportDeletes(scans, outcomes);
    }
  }

  private void reportDeletes(List<FoundScan> scans, Map<Object, String> outcomes) {
    boolean changed = false;
    for (FoundScan f : scans) {
      if (f.outcome == null || !outcomes.containsKey(f.scan)) continue;
      f.outcome.deletes = outcomes.get(f.scan);
      changed = true;
    }
    if (!changed) return;
    report.report(scans.stream().map(each -> each.outcome).filter(Objects::nonNull).toList());
  }

  private void reportFailure(Throwable t) {
    report.report(List.of(ScanOutcome.without("internal-error", String.valueOf(t))));
  }
}
