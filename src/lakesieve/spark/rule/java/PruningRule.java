package lakesieve;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.QueryPlanningTracker;
import org.apache.spark.sql.catalyst.plans.logical.DeleteFromTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Subquery;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;

/**
 * The optimizer rule: finds scans in the finished plan, asks Python once which files can hold a
 * match, and takes the others out of the scan. On any failure the scan stays as it was.
 */
public final class PruningRule extends Rule implements JoinKeys.Scans {
  public static final String RAW_READ = "lakesieve-raw-read";

  private final PythonPlanner python;
  private final ScanSearch search;
  private final ScanJoins joins;
  private final ThreadLocal inside = new ThreadLocal(); // a plan of this rule's own
  private final IdentitySet done = new IdentitySet();
  private final WeakHashMap runs = new WeakHashMap();
  private final HashMap selections = new HashMap();
  private volatile boolean active = false;
  private final ScanReport report = new ScanReport();

  /**
   * Make the rule of a session.
   *
   * @param joins what replaces scans beyond memory, or null
   */
  public PruningRule(Function python, ScanAdapter[] adapters, ScanJoins joins) {
    this.python = new PythonPlanner(python);
    this.search = new ScanSearch(adapters);
    this.joins = joins;
  }

  public void setActive(boolean active) {
    this.active = active;
  }

  public boolean isActive() {
    return this.active;
  }

  /** What the latest query with a scan of a known format did, as JSON. */
  public String report() {
    return this.report.text();
  }

  /** Forget what the latest query did. */
  public void forget() {
    this.report.clear();
  }

  public TreeNode apply(TreeNode plan) {
    // a subquery is optimized on its own first; its scans are met again, whole, in the outer plan
    if (plan instanceof Subquery || this.inside.get() != null) return plan;
    if (this.active) this.report.begin((LogicalPlan) plan);
    // only that of all rows is left; its relation is never read
    if (plan instanceof DeleteFromTable) return plan;
    List scans = new ArrayList();
    Map replaced = new IdentityHashMap();
    LogicalPlan pruned = (LogicalPlan) plan;
    try {
      pruned = settled(pruned);
      scans = this.search.scans(pruned);
      List open = new ArrayList();
      List met = new ArrayList();
      for (Iterator it = scans.iterator(); it.hasNext(); ) {
        FoundScan f = (FoundScan) it.next();
        if (f.adapter.inPlace() ? !this.done.add(f.scan) : wasMet(f.leaf)) continue;
        met.add(f);
        String raw = f.adapter.option(f.leaf, RAW_READ);
        if (raw != null) readRaw(f, raw, replaced);
        else if (this.active) open.add(f);
      }
      meet(met);
      if (!open.isEmpty()) {
        prune(pruned, open, replaced);
        byKeys(pruned, scans, open, replaced);
      }
    } catch (JoinSide.CancelledException e) {
      throw e;
    } catch (Throwable t) {
      fail(t);
    }
    // scans that lack files for the rows of a join must meet these rows: no failure is caught here
    if (!replaced.isEmpty()) {
      pruned = (LogicalPlan) pruned.transformDownWithSubqueries(new Replacement(replaced));
    }
    return this.active && this.joins != null ? join(pruned, scans) : pruned;
  }

  /** True where scans of a plan are pruned, not in plans of this rule's own. */
  public boolean prunes() {
    return this.active && this.inside.get() == null;
  }

  /** The plan without deferred scans, unless an index leaves few files of each. */
  private LogicalPlan settled(LogicalPlan plan) throws Exception {
    List found = this.search.scans(plan);
    List deferred = new ArrayList();
    List leaves = new ArrayList();
    for (Iterator it = found.iterator(); it.hasNext(); ) {
      FoundScan f = (FoundScan) it.next();
      if (!f.adapter.isDeferred(f.leaf) || wasMet(f.leaf)) continue;
      deferred.add(f);
      leaves.add(f.leaf);
    }
    if (deferred.isEmpty()) return plan;
    if (this.active) prune(plan, deferred, new IdentityHashMap());
    for (Iterator it = deferred.iterator(); it.hasNext(); ) {
      FoundScan f = (FoundScan) it.next();
      boolean few = f.row != null && KeepSet.isFew(f.files(), f.adapter.fileCount(f.leaf));
      if (!few) return f.adapter.restored(plan, leaves);
    }
    return plan;
  }

  /** Take files out by the keys of joins, and tell what became of all scans. */
  private void byKeys(LogicalPlan plan, List scans, List open, Map replaced) throws Exception {
    this.inside.set(scans);
    try {
      new JoinKeys(this, open, replaced).apply(plan);
    } catch (JoinSide.CancelledException e) {
      throw e;
    } catch (Throwable t) {
      for (Iterator it = open.iterator(); it.hasNext(); ) {
        ((FoundScan) it.next()).left("internal-error", "keys of joins: " + t);
      }
    } finally {
      this.inside.remove();
    }
    List rows = new ArrayList();
    for (Iterator it = open.iterator(); it.hasNext(); ) rows.add(((FoundScan) it.next()).row);
    this.report.tell(rows);
  }

  public void met(LogicalPlan leaf) {
    seenInRun().add(leaf);
  }

  public LogicalPlan runnable(LogicalPlan plan) {
    if (this.joins == null) return plan;
    return this.joins.apply(plan, (List) this.inside.get(), new IdentityHashMap(), this.done);
  }

  public LogicalPlan prune(FoundScan f) throws Exception {
    Map known = FileOrdinals.known();
    Map scan = f.adapter.describe(f.leaf);
    scan.put("id", Integer.valueOf(0));
    scan.put("filter", f.filter);
    scan.put("keys", f.keys);
    List requests = new ArrayList();
    requests.add(scan);
    List scans = new ArrayList();
    scans.add(f);
    Map replaced = new IdentityHashMap();
    answer(scans, this.python.ask(requests, known, true), known, replaced);
    return (LogicalPlan) replaced.get(f.top);
  }

  /** Take sets of deletes that need too much memory out of the plan. */
  private LogicalPlan join(LogicalPlan plan, List scans) {
    Map outcomes = new IdentityHashMap();
    this.inside.set(Boolean.TRUE);
    try {
      return this.joins.apply(plan, scans, outcomes, this.done);
    } catch (Throwable t) {
      fail(t);
      return plan;
    } finally {
      this.inside.remove();
      tell(scans, outcomes);
    }
  }

  private void tell(List scans, Map outcomes) {
    List report = new ArrayList();
    boolean news = false;
    for (Iterator it = scans.iterator(); it.hasNext(); ) {
      FoundScan f = (FoundScan) it.next();
      if (f.row == null) continue;
      report.add(f.row);
      if (!outcomes.containsKey(f.scan)) continue;
      f.row.put("deletes", outcomes.get(f.scan));
      news = true;
    }
    if (news) this.report.tell(report);
  }

  /** Name more files of a selection, U+0000 between two, for raw reads of them alone. */
  public void select(String name, String joined) {
    synchronized (this.selections) {
      PathSet files = (PathSet) this.selections.get(name);
      if (files == null) this.selections.put(name, files = new PathSet());
      String[] paths = joined.split("\0", -1);
      for (int i = 0; i < paths.length; i++) files.add(paths[i]);
    }
  }

  public void deselect(String name) {
    synchronized (this.selections) {
      this.selections.remove(name);
    }
  }

  private void readRaw(FoundScan f, String raw, Map replaced) throws Exception {
    String[] parts = raw.split(" ");
    PathSet files = null;
    if (parts.length > 1) {
      synchronized (this.selections) {
        files = (PathSet) this.selections.get(parts[1]);
      }
      if (files == null) throw new IllegalStateException("no selection " + parts[1]);
    }
    Map leaves = new IdentityHashMap();
    f.adapter.readRaw(f.leaf, Integer.parseInt(parts[0]), files, leaves);
    replace(f, leaves, replaced);
  }

  /** The chain of filters above a leaf, with another leaf below it. */
  private static LogicalPlan replace(FoundScan f, Map leaves, Map replaced) {
    LogicalPlan other = (LogicalPlan) leaves.get(f.leaf);
    if (other == null) return f.leaf;
    replaced.put(f.top, f.top == f.leaf ? other : f.top.transformDown(new Replacement(leaves)));
    return other;
  }

  /** Leaves seen in this run of the optimizer, which applies rules until the plan stays the same. */
  private IdentitySet seenInRun() {
    scala.Option run = QueryPlanningTracker.get();
    if (!run.isDefined()) return new IdentitySet();
    synchronized (this.runs) {
      IdentitySet seen = (IdentitySet) this.runs.get(run.get());
      if (seen == null) {
        seen = new IdentitySet();
        this.runs.put(run.get(), seen);
      }
      return seen;
    }
  }

  private boolean wasMet(LogicalPlan leaf) {
    return seenInRun().contains(leaf);
  }

  // all at once: a leaf may stand in several places
  private void meet(List found) {
    IdentitySet seen = seenInRun();
    for (Iterator it = found.iterator(); it.hasNext(); ) seen.add(((FoundScan) it.next()).leaf);
  }

  private void fail(Throwable t) {
    Map row = new LinkedHashMap();
    row.put("error", String.valueOf(t));
    List rows = new ArrayList();
    rows.add(row);
    this.report.tell(rows);
  }

  private void prune(LogicalPlan plan, List scans, Map replaced) throws Exception {
    List requests = new ArrayList();
    List rows = new ArrayList();
    for (int i = 0; i < scans.size(); i++) {
      FoundScan f = (FoundScan) scans.get(i);
      Map scan = f.adapter.describe(f.leaf);
      Map row = new LinkedHashMap();
      row.put("table", scan.get("table"));
      int files = f.adapter.fileCount(f.leaf);
      row.put("files_total", Integer.valueOf(files));
      row.put("files_read", Integer.valueOf(files));
      row.put("uncovered", Integer.valueOf(0));
      rows.add(row);
      f.row = row;
      Map changed = f.adapter.changedRows(plan, f.leaf);
      f.rewrites = changed != null;
      f.filter = f.rewrites ? changed : ScanSearch.node("or", f.places);
      String refusal = f.adapter.refusal(f.leaf);
      if (refusal != null) {
        row.put("refusal", refusal);
        continue;
      }
      scan.put("id", Integer.valueOf(i));
      scan.put("filter", f.filter);
      requests.add(scan);
    }
    if (requests.isEmpty()) return;
    try {
      // what is known now stays known for this request, whatever other queries push out
      Map known = FileOrdinals.known();
      answer(scans, this.python.ask(requests, known, false), known, replaced);
    } catch (Throwable t) {
      for (Iterator it = rows.iterator(); it.hasNext(); ) {
        ((Map) it.next()).put("error", String.valueOf(t));
      }
    }
  }

  private void answer(List scans, Map answer, Map known, Map replaced) throws Exception {
    Map used = new LinkedHashMap();
    for (Iterator it = ((List) answer.get("scans")).iterator(); it.hasNext(); ) {
      Map a = (Map) it.next();
      int id = ((Number) a.get("id")).intValue();
      FoundScan f = (FoundScan) scans.get(id);
      Map row = f.row;
      if (a.get("late") != null && !f.keys.isEmpty()) {
        // what its filters left out stays out
        Map reason = (Map) ((List) a.get("reasons")).get(0);
        f.left((String) reason.get("code"), "keys of joins: " + reason.get("detail"));
        continue;
      }
      f.leading = (List) a.get("leading");
      row.put("indexes", a.get("indexes"));
      row.put("reasons", a.get("reasons"));
      row.put("predicate", a.get("predicate"));
      if (a.get("keep") == null) continue;
      KeepSet keep = this.python.keepSet(answer, a, !f.keys.isEmpty(), known, used);
      Map leaves = new IdentityHashMap();
      int uncovered = f.adapter.prune(f.leaf, keep, leaves);
      LogicalPlan left = replace(f, leaves, replaced);
      row.put("uncovered", Integer.valueOf(uncovered));
      row.put("files_read", Integer.valueOf(f.adapter.fileCount(left)));
    }
    this.python.remember(used);
  }
}
