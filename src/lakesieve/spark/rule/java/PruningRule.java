package lakesieve;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.function.Function;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkContext$;
import org.apache.spark.sql.catalyst.QueryPlanningTracker;
import org.apache.spark.sql.catalyst.plans.logical.DeleteFromTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Subquery;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.internal.SQLConf$;

/**
 * The optimizer rule: finds scans in the finished plan, asks Python once which files can hold a
 * match, and takes the others out of the scan. On any failure the scan stays as it was.
 */
public final class PruningRule extends Rule implements JoinKeys.Scans {
  /** The option of raw reads: a stride, and the name of a selection of files if there is one. */
  public static final String RAW_READ = "lakesieve-raw-read";

  /** The setting that switches skipping off for a session, or for some of its queries. */
  public static final String ENABLED = "spark.lakesieve.enabled";

  /** The thread's local property that names what is known already of the files of a table. */
  public static final String GIVEN = "lakesieve.given";

  private final PythonPlanner python;
  private final ScanSearch search;
  private final ScanJoins joins;
  // set while plans that this rule makes are optimized: the scans of the plan that it prunes
  private final ThreadLocal<List<FoundScan>> pruning = new ThreadLocal<>();
  // scans that were visited, of adapters that change them in place
  private final IdentitySet visited = new IdentitySet();
  // leaves that were visited, by the run of the optimizer
  private final Map<Object, IdentitySet> runs = new WeakHashMap<>();
  private final Map<String, PathSet> selections = new HashMap<>();
  private final ScanReport report = new ScanReport();
  private volatile boolean active = false;

  /**
   * Make the rule of a session.
   *
   * @param python answers requests, both as JSON
   * @param joins what replaces scans that need too much memory, or null
   */
  public PruningRule(Function<String, String> python, ScanAdapter[] adapters, ScanJoins joins) {
    this.python = new PythonPlanner(python);
    this.search = new ScanSearch(adapters);
    this.joins = joins;
  }

  /** Have scans pruned from now on, or not. */
  public void setActive(boolean active) {
    this.active = active;
  }

  /** True while scans are pruned. */
  public boolean isActive() {
    return this.active;
  }

  /** What the latest query with a scan of a known format did, as JSON. */
  public String report() {
    return this.report.text();
  }

  /** The same for a query that is being analyzed, and reads it. */
  public String readReport() {
    return this.report.read();
  }

  /** Forget what the latest query did. */
  public void forget() {
    this.report.clear();
  }

  /** Prune the scans of a plan. */
  @Override
  public TreeNode apply(TreeNode plan) {
    // a subquery is optimized alone first; its scans are visited again, whole, in the outer plan
    if (plan instanceof Subquery || this.pruning.get() != null) return plan;
    if (isOn()) this.report.begin((LogicalPlan) plan);
    // a DELETE remains in the plan only when it deletes all rows; its relation is never read
    if (plan instanceof DeleteFromTable) return plan;
    List<FoundScan> scans = new ArrayList<>();
    Map<LogicalPlan, LogicalPlan> replaced = new IdentityHashMap<>();
    LogicalPlan pruned = (LogicalPlan) plan;
    try {
      pruned = resolveDeferred(pruned);
      scans = this.search.scans(pruned);
      List<FoundScan> open = new ArrayList<>();
      List<FoundScan> fresh = new ArrayList<>();
      for (FoundScan f : scans) {
        if (f.adapter.inPlace() ? !this.visited.add(f.scan) : wasVisited(f.leaf)) continue;
        fresh.add(f);
        String raw = f.adapter.option(f.leaf, RAW_READ);
        if (raw != null) readRaw(f, raw, replaced);
        else if (isOn()) open.add(f);
      }
      // all at once: a leaf may occur several times
      for (FoundScan f : fresh) markVisited(f.leaf);
      if (!open.isEmpty()) {
        prune(pruned, open, replaced, false);
        pruneByKeys(pruned, scans, open, replaced);
      }
    } catch (JoinSide.CancelledException e) {
      throw e;
    } catch (Throwable t) {
      reportFailure(t);
    }
    // scans that lack files for the rows of a join need these rows: no failure is caught here
    if (!replaced.isEmpty()) {
      pruned = (LogicalPlan) pruned.transformDownWithSubqueries(new Replacement(replaced));
    }
    return isOn() && this.joins != null ? joinDeletes(pruned, scans) : pruned;
  }

  /** Prune scans of one format before it plans them; they are visited again once it did. */
  public void pruneEarly(LogicalPlan plan, ScanAdapter adapter) throws Exception {
    List<FoundScan> open = new ArrayList<>();
    for (FoundScan f : this.search.scans(plan)) {
      if (f.adapter != adapter || !adapter.isOpen(f.leaf)) continue;
      if (adapter.option(f.leaf, RAW_READ) == null) open.add(f);
    }
    // marked: Spark may still put one of two equal scans in the place of both
    if (!open.isEmpty()) prune(plan, open, new IdentityHashMap<>(), true);
  }

  /** True where scans of a plan are pruned, false in plans that this rule makes. */
  public boolean prunes() {
    return isOn() && this.pruning.get() == null;
  }

  private boolean isOn() {
    return this.active && !SQLConf$.MODULE$.get().getConfString(ENABLED, "true").equals("false");
  }

  /** The plan without deferred scans, unless the indexes keep few files of each. */
  private LogicalPlan resolveDeferred(LogicalPlan plan) throws Exception {
    List<FoundScan> deferred = new ArrayList<>();
    List<LogicalPlan> leaves = new ArrayList<>();
    for (FoundScan f : this.search.scans(plan)) {
      if (!f.adapter.isDeferred(f.leaf) || wasVisited(f.leaf)) continue;
      deferred.add(f);
      leaves.add(f.leaf);
    }
    if (deferred.isEmpty()) return plan;
    if (isOn()) prune(plan, deferred, new IdentityHashMap<>(), false);
    for (FoundScan f : deferred) {
      boolean few = f.row != null && KeepSet.isFew(f.files(), f.adapter.fileCount(f.leaf));
      if (!few) return f.adapter.restored(plan, leaves);
    }
    return plan;
  }

  /** Skip files by the keys of joins, and report all scans. */
  private void pruneByKeys(
      LogicalPlan plan,
      List<FoundScan> scans,
      List<FoundScan> open,
      Map<LogicalPlan, LogicalPlan> replaced) {
    this.pruning.set(scans);
    try {
      new JoinKeys(this, open, replaced).apply(plan);
    } catch (JoinSide.CancelledException e) {
      throw e;
    } catch (Throwable t) {
      String detail = "keys of joins: " + NoAnswerException.detailOf(t);
      for (FoundScan f : open) f.skipped(NoAnswerException.codeOf(t), detail);
    } finally {
      this.pruning.remove();
    }
    List<Map<String, Object>> rows = new ArrayList<>();
    for (FoundScan f : open) rows.add(f.row);
    this.report.report(rows);
  }

  /** Leave a leaf as it is when this run of the optimizer visits it again. */
  @Override
  public void markVisited(LogicalPlan leaf) {
    visitedInRun().add(leaf);
  }

  /** A plan whose scans that need too much memory are replaced. */
  @Override
  public LogicalPlan runnable(LogicalPlan plan) {
    if (this.joins == null) return plan;
    List<FoundScan> scans = (List<FoundScan>) this.pruning.get();
    return this.joins.apply(plan, scans, new IdentityHashMap<>(), this.visited);
  }

  /** Prune a scan by the keys that it has of joins; returns what replaces its topmost node. */
  @Override
  public LogicalPlan prune(FoundScan f) throws Exception {
    Map<String, CatalogueFiles> known = FileOrdinals.known();
    Map<String, Object> scan = f.adapter.describe(f.leaf);
    scan.put("id", 0);
    scan.put("filter", f.filter);
    scan.put("keys", f.keys);
    List<Map<String, Object>> requests = new ArrayList<>();
    requests.add(scan);
    List<FoundScan> scans = new ArrayList<>();
    scans.add(f);
    Map<LogicalPlan, LogicalPlan> replaced = new IdentityHashMap<>();
    applyAnswer(scans, this.python.ask(requests, known, true), known, replaced, false);
    return (LogicalPlan) replaced.get(f.top);
  }

  /** Replace scans whose deletes need too much memory. */
  private LogicalPlan joinDeletes(LogicalPlan plan, List<FoundScan> scans) {
    Map<Object, String> outcomes = new IdentityHashMap<>();
    this.pruning.set(scans);
    try {
      return this.joins.apply(plan, scans, outcomes, this.visited);
    } catch (Throwable t) {
      reportFailure(t);
      return plan;
    } finally {
      this.pruning.remove();
      reportDeletes(scans, outcomes);
    }
  }

  private void reportDeletes(List<FoundScan> scans, Map<Object, String> outcomes) {
    List<Map<String, Object>> rows = new ArrayList<>();
    boolean changed = false;
    for (FoundScan f : scans) {
      if (f.row == null) continue;
      rows.add(f.row);
      if (!outcomes.containsKey(f.scan)) continue;
      f.row.put("deletes", outcomes.get(f.scan));
      changed = true;
    }
    if (changed) this.report.report(rows);
  }

  /** Add files to a selection, U+0000 between two, for raw reads of these files alone. */
  public void select(String name, String joined) {
    synchronized (this.selections) {
      PathSet files = (PathSet) this.selections.get(name);
      if (files == null) {
        files = new PathSet();
        this.selections.put(name, files);
      }
      for (String path : joined.split("\0", -1)) files.add(path);
    }
  }

  /** Forget a selection. */
  public void deselect(String name) {
    synchronized (this.selections) {
      this.selections.remove(name);
    }
  }

  private void readRaw(FoundScan f, String raw, Map<LogicalPlan, LogicalPlan> replaced)
      throws Exception {
    String[] parts = raw.split(" ");
    PathSet files = null;
    if (parts.length > 1) {
      synchronized (this.selections) {
        files = (PathSet) this.selections.get(parts[1]);
      }
      if (files == null) throw new IllegalStateException("no selection " + parts[1]);
    }
    Map<LogicalPlan, LogicalPlan> leaves = new IdentityHashMap<>();
    f.adapter.readRaw(f.leaf, Integer.parseInt(parts[0]), files, leaves);
    replace(f, leaves, replaced);
  }

  /** Replace the leaf below a chain of filters; returns what is then the leaf. */
  private static LogicalPlan replace(
      FoundScan f, Map<LogicalPlan, LogicalPlan> leaves, Map<LogicalPlan, LogicalPlan> replaced) {
    LogicalPlan other = (LogicalPlan) leaves.get(f.leaf);
    if (other == null) return f.leaf;
    LogicalPlan top = other;
    if (f.top != f.leaf) top = (LogicalPlan) f.top.transformDown(new Replacement(leaves));
    replaced.put(f.top, top);
    return other;
  }

  /** Leaves visited in this run of the optimizer, which applies rules until the plan stays the same. */
  private IdentitySet visitedInRun() {
    scala.Option run = QueryPlanningTracker.get();
    if (!run.isDefined()) return new IdentitySet();
    synchronized (this.runs) {
      IdentitySet leaves = (IdentitySet) this.runs.get(run.get());
      if (leaves == null) {
        leaves = new IdentitySet();
        this.runs.put(run.get(), leaves);
      }
      return leaves;
    }
  }

  private boolean wasVisited(LogicalPlan leaf) {
    return visitedInRun().contains(leaf);
  }

  private void reportFailure(Throwable t) {
    Map<String, Object> row = new LinkedHashMap<>();
    row.put("error", String.valueOf(t));
    List<Map<String, Object>> rows = new ArrayList<>();
    rows.add(row);
    this.report.report(rows);
  }

  /** Skip files by the conditions above each scan. */
  private void prune(
      LogicalPlan plan,
      List<FoundScan> scans,
      Map<LogicalPlan, LogicalPlan> replaced,
      boolean early)
      throws Exception {
    List<Map<String, Object>> requests = new ArrayList<>();
    String given = given();
    for (int i = 0; i < scans.size(); i++) {
      FoundScan f = (FoundScan) scans.get(i);
      Map<String, Object> scan = f.adapter.describe(f.leaf);
      Map<String, Object> row = new LinkedHashMap<>();
      row.put("table", scan.get("table"));
      row.put("files_total", f.adapter.totalFiles(f.leaf, f.above));
      row.put("files_read", f.adapter.fileCount(f.leaf, f.above));
      row.put("uncovered", 0);
      f.row = row;
      Map<String, Object> changed = f.adapter.changedRows(plan, f.leaf);
      f.rewrites = changed != null;
      f.filter = f.rewrites ? changed : ScanSearch.node("or", f.conditions);
      String refusal = f.adapter.refusal(f.leaf);
      if (refusal != null) {
        row.put("refusal", refusal);
        continue;
      }
      scan.put("id", i);
      scan.put("filter", f.filter);
      if (given != null) scan.put("given", given);
      requests.add(scan);
    }
    if (requests.isEmpty()) return;
    try {
      // catalogues that are known stay so for this request, whatever other queries push out
      Map<String, CatalogueFiles> known = FileOrdinals.known();
      applyAnswer(scans, this.python.ask(requests, known, false), known, replaced, early);
    } catch (Throwable t) {
      String code = NoAnswerException.codeOf(t);
      for (FoundScan f : scans) f.skipped(code, NoAnswerException.detailOf(t));
    }
  }

  private static String given() {
    scala.Option context = SparkContext$.MODULE$.getActive();
    return context.isDefined() ? ((SparkContext) context.get()).getLocalProperty(GIVEN) : null;
  }

  /** Skip the files that an answer does not keep, and put what it says into the scans' rows. */
  private void applyAnswer(
      List<FoundScan> scans,
      Map<String, Object> answer,
      Map<String, CatalogueFiles> known,
      Map<LogicalPlan, LogicalPlan> replaced,
      boolean early)
      throws Exception {
    Map<String, CatalogueFiles> used = new LinkedHashMap<>();
    for (Map<String, Object> a : (List<Map<String, Object>>) answer.get("scans")) {
      FoundScan f = (FoundScan) scans.get(((Number) a.get("id")).intValue());
      Map<String, Object> row = f.row;
      if (a.get("late") != null && !f.keys.isEmpty()) {
        // files that its filters skip stay skipped
        Map<String, Object> reason = (Map<String, Object>) ((List) a.get("reasons")).get(0);
        f.skipped((String) reason.get("code"), "keys of joins: " + reason.get("detail"));
        continue;
      }
      f.leading = (List<List<String>>) a.get("leading");
      row.put("indexes", a.get("indexes"));
      row.put("reasons", a.get("reasons"));
      row.put("predicate", a.get("predicate"));
      if (a.get("keep") == null) continue;
      boolean marked = early || !f.keys.isEmpty() || a.get("given") != null;
      KeepSet keep = this.python.keepSet(answer, a, marked, known, used);
      Map<LogicalPlan, LogicalPlan> leaves = new IdentityHashMap<>();
      int uncovered = f.adapter.prune(f.leaf, f.above, keep, leaves);
      LogicalPlan leaf = replace(f, leaves, replaced);
      row.put("uncovered", uncovered);
      row.put("files_read", f.adapter.fileCount(leaf, f.above));
    }
    this.python.remember(used);
  }
}
