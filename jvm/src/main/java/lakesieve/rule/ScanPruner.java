package lakesieve.rule;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import lakesieve.files.CatalogueFiles;
import lakesieve.files.FileGroup;
import lakesieve.files.FileOrdinals;
import lakesieve.files.KeepSet;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** Asks Python which data files scans keep, and removes the other files from the scans. */
final class ScanPruner {
  // local property of a thread: the name of the files of a table that are known already
  private static final String GIVEN = "lakesieve.given";

  // field of the first rows that lists their orders
  private static final String ORDERS = "orders";

  private final PythonPlanner python;

  /** Create the pruner from a function that answers requests, both as JSON. */
  ScanPruner(Function<String, String> python) {
    this.python = new PythonPlanner(python);
  }

  /**
   * Skip files by the conditions above each scan.
   *
   * @param plan the plan with the scans
   * @param replaced gets what replaces the topmost nodes of scans
   * @param early whether the table format has not planned the scans yet
   */
  void prune(
      LogicalPlan plan,
      List<FoundScan> scans,
      Map<LogicalPlan, LogicalPlan> replaced,
      boolean early)
      throws Exception {
    List<Map<String, Object>> requests = new ArrayList<>();
    String given = LocalProperties.get(GIVEN);
    for (int i = 0; i < scans.size(); i++) {
      FoundScan f = scans.get(i);
      Map<String, Object> request = f.adapter.describe(f.leaf);
      int total = f.adapter.totalFiles(f.leaf, f.above);
      String table = (String) request.get("table");
      f.outcome = new ScanOutcome(table, total, f.adapter.fileCount(f.leaf, f.above));
      f.changedRows = f.adapter.changedRows(plan, f.leaf);
      f.outcome.refusal = f.adapter.refusal(f.leaf);
      if (f.isRefused()) continue;
      request.put("id", i);
      request.put("filter", f.filter());
      if (given != null) request.put("given", given);
      // before the format has planned a scan, which files it returns whole would be planning it
      boolean tells = f.needed != null && !f.isRewritten() && !early;
      if (tells) request.put(f.neededField(), f.needed);
      requests.add(request);
    }
    if (requests.isEmpty()) return;
    try {
      ask(scans, requests, false, replaced, early);
    } catch (Throwable t) {
      String code = NoAnswerException.codeOf(t);
      for (FoundScan f : scans) f.skipped(code, NoAnswerException.detailOf(t));
    }
  }

  /** Skip files by the keys of joins. Return what replaces the scan's topmost node, or null. */
  LogicalPlan pruneByKeys(FoundScan f) throws Exception {
    Map<String, Object> request = f.adapter.describe(f.leaf);
    request.put("id", 0);
    request.put("filter", f.filter());
    request.put("keys", f.keys());
    Map<LogicalPlan, LogicalPlan> replaced = new IdentityHashMap<>();
    ask(List.of(f), List.of(request), true, replaced, false);
    return replaced.get(f.top);
  }

  /** Skip the files that the answer to requests does not keep. */
  private void ask(
      List<FoundScan> scans,
      List<Map<String, Object>> requests,
      boolean ofKeys,
      Map<LogicalPlan, LogicalPlan> replaced,
      boolean early)
      throws Exception {
    // known catalogues stay known for this request, even if other queries push them out
    Map<String, CatalogueFiles> known = FileOrdinals.known();
    Map<String, CatalogueFiles> used = new LinkedHashMap<>();
    List<Map<String, Object>> again = new ArrayList<>();
    Map<String, Object> answer = python.ask(requests, known, ofKeys);
    for (Map<String, Object> part : maps(answer.get("scans"))) {
      FoundScan f = scans.get(((Number) part.get("id")).intValue());
      if (part.get("live") != null) {
        f.needed = withLiveFiles(f, answer, part, known, used);
        again.add(request(requests, part.get("id"), f));
        continue;
      }
      if (part.get("late") != null && !f.keys().isEmpty()) {
        // files that the scan's filters skip stay skipped
        Map<String, Object> reason = maps(part.get("reasons")).get(0);
        f.skipped((String) reason.get("code"), "keys of joins: " + reason.get("detail"));
        continue;
      }
      f.leading = paths(part.get("leading"));
      f.rowBlocks = Boolean.TRUE.equals(part.get("row_blocks"));
      f.outcome.answered(
          (List<?>) part.get("indexes"),
          (List<?>) part.get("reasons"),
          (String) part.get("predicate"));
      f.firstRowsKnown = part.get("first_rows") != null;
      boolean marked =
          early || f.needed != null || !f.keys().isEmpty() || part.get("given") != null;
      // also for a scan that is then not read: Delta lists the files of its table from now on
      if (part.get("keep") != null) {
        keep(f, python.keepSet(answer, part, marked, known, used), f.condition(part), replaced);
      }
      f.answer(part, replaced);
    }
    python.remember(used);
    if (!again.isEmpty()) ask(scans, again, ofKeys, replaced, early);
  }

  /** Return the rows that are needed of a scan, with the data files whose rows surely count. */
  private Map<String, Object> withLiveFiles(
      FoundScan f,
      Map<String, Object> answer,
      Map<String, Object> part,
      Map<String, CatalogueFiles> known,
      Map<String, CatalogueFiles> used)
      throws Exception {
    byte[] secret = PythonPlanner.secret(answer);
    List<FileGroup> complete = f.adapter.completeGroups(f.leaf, secret);
    List<PythonPlanner.LiveFiles> live = python.liveFiles(answer, part, complete, known, used);
    f.allRowsKnown = live.stream().allMatch(each -> each.count() == f.outcome.read);
    if (f.needed.get(ORDERS) == null) return counted(f.needed, live.get(0).bits());
    List<Map<String, Object>> orders = new ArrayList<>();
    for (Map<String, Object> order : maps(f.needed.get(ORDERS))) {
      orders.add(counted(order, live.get(orders.size()).bits()));
    }
    Map<String, Object> first = new LinkedHashMap<>(f.needed);
    first.put(ORDERS, orders);
    return first;
  }

  private static Map<String, Object> counted(Map<String, Object> needed, Map<String, String> live) {
    if (needed.containsKey("live")) throw new IllegalStateException("Python asks again");
    Map<String, Object> counted = new LinkedHashMap<>(needed);
    counted.put("live", live);
    return counted;
  }

  private static Map<String, Object> request(
      List<Map<String, Object>> requests, Object id, FoundScan f) {
    for (Map<String, Object> request : requests) {
      if (!request.get("id").equals(id)) continue;
      Map<String, Object> again = new LinkedHashMap<>(request);
      again.put(f.neededField(), f.needed);
      return again;
    }
    throw new IllegalStateException("an answer for no scan of the request");
  }

  private static void keep(
      FoundScan f, KeepSet files, Expression condition, Map<LogicalPlan, LogicalPlan> replaced)
      throws Exception {
    Map<LogicalPlan, LogicalPlan> leaves = new IdentityHashMap<>();
    int uncovered = f.adapter.prune(f.leaf, f.above, files, leaves);
    LogicalPlan leaf = f.replaceLeaf(leaves, condition, replaced);
    f.outcome.uncovered = uncovered;
    f.outcome.read = f.adapter.fileCount(leaf, f.above);
    f.outcome.rows = f.adapter.rows(leaf);
    f.outcome.wholeFiles = f.adapter.wholeFiles(leaf);
    f.outcome.wholeRowGroups = f.adapter.wholeRowGroups(leaf);
  }

  // the protocol says that there is a list of objects, and Jackson makes maps of objects
  @SuppressWarnings("unchecked")
  private static List<Map<String, Object>> maps(Object json) {
    return (List<Map<String, Object>>) json;
  }

  // the protocol says that there is a list of lists of names
  @SuppressWarnings("unchecked")
  private static List<List<String>> paths(Object json) {
    return (List<List<String>>) json;
  }
}
