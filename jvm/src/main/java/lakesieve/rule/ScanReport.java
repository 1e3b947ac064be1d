package lakesieve.rule;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import lakesieve.folders.FileScans;
import lakesieve.spark.Scala;
import org.apache.spark.sql.catalyst.QueryPlanningTracker;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/**
 * What the latest query or command that reads tables did, with one row for each scan. A command may
 * run several queries, which are reported together. Queries that lakesieve runs itself are left
 * out. So are queries that only read rows in memory: values, the result of a command, a cached
 * frame, a batch of a stream.
 */
public final class ScanReport {
  /** Local property of the threads that run lakesieve's queries. */
  private static final String INTERNAL = "lakesieve.own";

  private static final int MAX_ROWS = 100;
  // commands that may run without a scan
  private static final Set<String> CHANGES =
      Set.of(
          "DeleteFromTable",
          "DeleteFromTableWithFilters",
          "ReplaceData",
          "WriteDelta",
          "DeleteCommand",
          "UpdateCommand",
          "MergeIntoCommand",
          "DeleteHoodieTableCommand",
          "UpdateHoodieTableCommand",
          "MergeIntoHoodieTableCommand");
  private static final Set<String> TABLES =
      Set.of("DataSourceV2ScanRelation", "DataSourceV2Relation", "HiveTableRelation");
  // leaves of rows, to which formats turn queries that they answer from metadata
  private static final Set<String> ROWS_ALONE = Set.of("LocalRelation", "OneRowRelation", "Range");

  private static final ObjectMapper JSON = new ObjectMapper();

  private List<ScanOutcome> rows = new ArrayList<>();
  private Object query;
  // the report as the current query reads it
  private volatile QueryPlanningTracker reading;
  private volatile String text = "[]";

  /** Return a report as JSON that says why no scan was looked at. */
  public static String withoutScan(String code, String detail) {
    return json(List.of(ScanOutcome.without(code, detail)));
  }

  /** The report as JSON. */
  String text() {
    return text;
  }

  /** The report as JSON, for the query that is being analyzed. That query does not change it. */
  String read() {
    reading = planning();
    return text;
  }

  /** Clear the report when another query that reads tables is planned. */
  synchronized void begin(LogicalPlan plan) {
    if (LocalProperties.get(INTERNAL) != null) return;
    Object current = running();
    if (isSame(current) || (reading != null && reading == planning())) return;
    JobNotes.clear();
    if (!CHANGES.contains(name(plan)) && !reads(plan)) return;
    clear();
    query = current;
  }

  /** Report nothing until the next query. */
  synchronized void clear() {
    rows = new ArrayList<>();
    query = null;
    text = "[]";
  }

  /** Report scans, some of which may have been reported before. */
  synchronized void report(List<ScanOutcome> reported) {
    if (LocalProperties.get(INTERNAL) != null) return;
    Object current = running();
    boolean known = !reported.isEmpty() && rows.contains(reported.get(0));
    if (!known && !isSame(current)) rows = new ArrayList<>();
    query = current;
    for (ScanOutcome row : reported) {
      if (rows.size() < MAX_ROWS && !rows.contains(row)) rows.add(row);
    }
    JobNotes.describe(rows);
    text = json(rows);
  }

  /** Return rows as JSON. */
  static String json(List<ScanOutcome> rows) {
    try {
      return JSON.writeValueAsString(rows.stream().map(ScanOutcome::shown).toList());
    } catch (JsonProcessingException e) {
      return "[]";
    }
  }

  private boolean isSame(Object current) {
    return current != null && current.equals(query);
  }

  /** True for a plan that reads tables, or did before a format answered it from its metadata. */
  private static boolean reads(LogicalPlan plan) {
    List<LogicalPlan> leaves = leaves(plan);
    if (leaves.stream().anyMatch(ScanReport::isTable)) return true;
    for (LogicalPlan leaf : leaves) {
      if (leaf.isStreaming() || !ROWS_ALONE.contains(name(leaf))) return false;
    }
    // if a plan is made before its execution, nothing shows what it was
    String execution = LocalProperties.get(SQLExecution.EXECUTION_ID_KEY());
    if (execution == null) return true;
    QueryExecution running = SQLExecution.getQueryExecution(Long.parseLong(execution));
    return running != null && leaves(running.analyzed()).stream().anyMatch(ScanReport::isTable);
  }

  private static List<LogicalPlan> leaves(LogicalPlan plan) {
    List<LogicalPlan> leaves = new ArrayList<>();
    collectLeaves(plan, leaves, 0);
    return leaves;
  }

  private static void collectLeaves(LogicalPlan plan, List<LogicalPlan> out, int depth) {
    if (depth > ScanSearch.DEEPEST_PLAN) return;
    if (plan.children().isEmpty()) out.add(plan);
    for (LogicalPlan child : Scala.list(plan.children())) collectLeaves(child, out, depth + 1);
    for (LogicalPlan subquery : Scala.list(plan.subqueries())) {
      collectLeaves(subquery, out, depth + 1);
    }
  }

  private static boolean isTable(LogicalPlan leaf) {
    if (leaf.isStreaming()) return false;
    if (!(leaf instanceof LogicalRelation)) return TABLES.contains(name(leaf));
    HadoopFsRelation files = FileScans.relation(leaf);
    // Delta reads its log with queries, some of them in other threads
    return files == null || !name(files.location()).equals("DeltaLogFileIndex");
  }

  /** The common object of the queries of one command; outside a command, a query's planning. */
  private static Object running() {
    String execution = LocalProperties.get(SQLExecution.EXECUTION_ROOT_ID_KEY());
    return execution != null ? execution : planning();
  }

  private static QueryPlanningTracker planning() {
    return Scala.orNull(QueryPlanningTracker.get());
  }

  private static String name(Object node) {
    return node.getClass().getSimpleName();
  }
}
