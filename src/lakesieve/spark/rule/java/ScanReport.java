package lakesieve;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkContext$;
import org.apache.spark.sql.catalyst.QueryPlanningTracker;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution$;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import scala.Option;

/**
 * What the latest query or command that reads tables did, one row for each scan. A command may run
 * several queries; what they did is reported together. Queries that lakesieve runs itself are left
 * out, as are those of rows alone: values, the result of a command, a cached frame, a batch of a
 * stream.
 */
public final class ScanReport {
  /** Local property of the threads that run lakesieve's queries. */
  public static final String INTERNAL = "lakesieve.own";

  private static final int MAX_ROWS = 100;
  private static final int DEEPEST_PLAN = 500;
  // commands that may be done without a scan
  private static final List<String> CHANGES =
      Arrays.asList(
          "DeleteFromTable", "DeleteFromTableWithFilters", "ReplaceData", "WriteDelta",
          "DeleteCommand", "UpdateCommand", "MergeIntoCommand",
          "DeleteHoodieTableCommand", "UpdateHoodieTableCommand", "MergeIntoHoodieTableCommand");
  private static final List<String> TABLES =
      Arrays.asList("DataSourceV2ScanRelation", "DataSourceV2Relation", "HiveTableRelation");
  // what formats answer from their metadata becomes rows
  private static final List<String> ROWS_ALONE =
      Arrays.asList("LocalRelation", "OneRowRelation", "Range");

  private final ObjectMapper json = new ObjectMapper();
  private List<Map<String, Object>> rows = new ArrayList<>();
  private Object query;
  // of the query that reads the report
  private volatile Object reading;
  private volatile String text = "[]";

  /** The report as JSON. */
  public String text() {
    return this.text;
  }

  /** The report as JSON, for the query that is being analyzed, which then leaves it as it is. */
  public String read() {
    this.reading = planning();
    return this.text;
  }

  /** Forget what was before, when another query that reads tables is planned. */
  public synchronized void begin(LogicalPlan plan) {
    if (property(INTERNAL) != null) return;
    Object current = running();
    if (isSame(current) || (this.reading != null && this.reading == planning())) return;
    JobNotes.clear();
    if (!CHANGES.contains(name(plan)) && !reads(plan)) return;
    clear();
    this.query = current;
  }

  /** Report nothing until the next query. */
  public synchronized void clear() {
    this.rows = new ArrayList<>();
    this.query = null;
    this.text = "[]";
  }

  /** Report scans, of which some may have been reported before. */
  public synchronized void report(List<Map<String, Object>> reported) {
    if (property(INTERNAL) != null) return;
    Object current = running();
    boolean known = !reported.isEmpty() && has(reported.get(0));
    if (!known && !isSame(current)) this.rows = new ArrayList<>();
    this.query = current;
    for (Map<String, Object> row : reported) {
      if (this.rows.size() < MAX_ROWS && !has(row)) this.rows.add(row);
    }
    JobNotes.describe(this.rows);
    try {
      List<Map<String, Object>> shown = new ArrayList<>();
      for (Map<String, Object> row : this.rows) shown.add(shown(row));
      this.text = this.json.writeValueAsString(shown);
    } catch (Exception e) {
      this.text = "[]";
    }
  }

  /** A row as others see it, with all that there is to say about it among its reasons. */
  private static Map<String, Object> shown(Map<String, Object> row) {
    List<Object> reasons = new ArrayList<>();
    for (String name : new String[] {"reasons", "left"}) {
      if (row.get(name) != null) reasons.addAll((List) row.get(name));
    }
    if (row.get("refusal") != null) reasons.add(reason("scan-unsupported", row.get("refusal")));
    if (row.get("error") != null) reasons.add(reason("internal-error", row.get("error")));
    if (row.get("deletes") != null) {
      String[] parts = ((String) row.get("deletes")).split("\t", 2);
      String code = parts[0].equals("error") ? "internal-error" : "deletes-" + parts[0];
      reasons.add(reason(code, parts.length > 1 ? parts[1] : ""));
    }
    int uncovered = number(row, "uncovered");
    if (uncovered > 0) {
      String files = uncovered == 1 ? "1 file" : uncovered + " files";
      reasons.add(reason("uncovered-files", files + " that no index has seen"));
    }
    Map<String, Object> shown = new LinkedHashMap<>();
    shown.put("table", row.get("table") == null ? "" : row.get("table"));
    shown.put("files_total", number(row, "files_total"));
    shown.put("files_read", number(row, "files_read"));
    shown.put("uncovered", uncovered);
    shown.put("indexes", row.get("indexes") == null ? new ArrayList<>() : row.get("indexes"));
    shown.put("reasons", reasons);
    shown.put("predicate", row.get("predicate") == null ? "" : row.get("predicate"));
    return shown;
  }

  private static Map<String, Object> reason(String code, Object detail) {
    Map<String, Object> reason = new LinkedHashMap<>();
    reason.put("code", code);
    reason.put("detail", detail);
    return reason;
  }

  private static int number(Map<String, Object> row, String name) {
    return row.get(name) == null ? 0 : ((Number) row.get(name)).intValue();
  }

  private boolean has(Object row) {
    for (Object known : this.rows) {
      if (known == row) return true;
    }
    return false;
  }

  private boolean isSame(Object current) {
    if (current == null) return false;
    return current == this.query || (current instanceof String && current.equals(this.query));
  }

  /** True for a plan that reads tables, or did before a format answered it from its metadata. */
  private static boolean reads(LogicalPlan plan) {
    List<LogicalPlan> leaves = new ArrayList<>();
    collectLeaves(plan, leaves, 0);
    boolean answered = true;
    for (LogicalPlan leaf : leaves) {
      if (isTable(leaf)) return true;
      answered = answered && ROWS_ALONE.contains(name(leaf)) && !leaf.isStreaming();
    }
    if (!answered) return false;
    // where it is planned ahead of its execution, nothing shows what it was
    String execution = property(SQLExecution$.MODULE$.EXECUTION_ID_KEY());
    if (execution == null) return true;
    QueryExecution running = SQLExecution$.MODULE$.getQueryExecution(Long.parseLong(execution));
    return running != null && readsAny(running.analyzed());
  }

  private static boolean readsAny(LogicalPlan plan) {
    List<LogicalPlan> leaves = new ArrayList<>();
    collectLeaves(plan, leaves, 0);
    for (LogicalPlan leaf : leaves) {
      if (isTable(leaf)) return true;
    }
    return false;
  }

  private static void collectLeaves(LogicalPlan plan, List<LogicalPlan> out, int depth) {
    if (depth > DEEPEST_PLAN) return;
    if (plan.children().isEmpty()) out.add(plan);
    scala.collection.Iterator below = plan.children().iterator();
    while (below.hasNext()) collectLeaves((LogicalPlan) below.next(), out, depth + 1);
    scala.collection.Iterator subqueries = plan.subqueries().iterator();
    while (subqueries.hasNext()) {
      collectLeaves((LogicalPlan) subqueries.next(), out, depth + 1);
    }
  }

  private static boolean isTable(LogicalPlan leaf) {
    if (leaf.isStreaming()) return false;
    if (!(leaf instanceof LogicalRelation)) return TABLES.contains(name(leaf));
    HadoopFsRelation files = FileScans.relation(leaf);
    // Delta reads its log by queries, some of them in other threads
    return files == null || !name(files.location()).equals("DeltaLogFileIndex");
  }

  /** What the queries of one command have in common; outside of any, the planning of a query. */
  private static Object running() {
    String execution = property(SQLExecution$.MODULE$.EXECUTION_ROOT_ID_KEY());
    return execution != null ? execution : planning();
  }

  private static Object planning() {
    Option planning = QueryPlanningTracker.get();
    return planning.isDefined() ? planning.get() : null;
  }

  private static String property(String key) {
    Option context = SparkContext$.MODULE$.getActive();
    return context.isDefined() ? ((SparkContext) context.get()).getLocalProperty(key) : null;
  }

  private static String name(Object node) {
    return node.getClass().getSimpleName();
  }
}
