package lakesieve;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
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
 * What the latest query or command that reads tables did, one row a scan. A command may run several
 * queries; what they did is reported together. Queries of lakesieve's own are left out, as are those
 * of rows alone: values, the result of a command, a cached frame, a batch of a stream.
 */
public final class ScanReport {
  /** Local property of the threads that run lakesieve's own queries. */
  public static final String OWN = "lakesieve.own";

  private static final int ROWS = 100;
  private static final int DEEPEST_PLAN = 500;
  // those that may be done without a scan
  private static final List CHANGES =
      Arrays.asList(
          new Object[] {
            "DeleteFromTable", "DeleteFromTableWithFilters", "ReplaceData", "WriteDelta",
            "DeleteCommand", "UpdateCommand", "MergeIntoCommand",
            "DeleteHoodieTableCommand", "UpdateHoodieTableCommand", "MergeIntoHoodieTableCommand"
          });
  private static final List TABLES =
      Arrays.asList(
          new Object[] {"DataSourceV2ScanRelation", "DataSourceV2Relation", "HiveTableRelation"});
  // what formats answer from their metadata is left as rows
  private static final List ANSWERED =
      Arrays.asList(new Object[] {"LocalRelation", "OneRowRelation", "Range"});

  private final ObjectMapper json = new ObjectMapper();
  private final JobNotes notes = new JobNotes();
  private List rows = new ArrayList();
  private Object query;
  private volatile String text = "[]";

  public String text() {
    return this.text;
  }

  /** Forget what was before, when another query that reads tables is planned. */
  public synchronized void begin(LogicalPlan plan) {
    if (property(OWN) != null) return;
    Object now = running();
    if (isSame(now)) return;
    this.notes.clear();
    if (!CHANGES.contains(name(plan)) && !reads(plan)) return;
    clear();
    this.query = now;
  }

  public synchronized void clear() {
    this.rows = new ArrayList();
    this.query = null;
    this.text = "[]";
  }

  /** Report scans, of which some may have been reported before. */
  public synchronized void tell(List reported) {
    if (property(OWN) != null) return;
    Object now = running();
    boolean known = reported.size() > 0 && has(reported.get(0));
    if (!known && !isSame(now)) this.rows = new ArrayList();
    this.query = now;
    for (int i = 0; i < reported.size() && this.rows.size() < ROWS; i++) {
      if (!has(reported.get(i))) this.rows.add(reported.get(i));
    }
    this.notes.tell(this.rows);
    try {
      this.text = this.json.writeValueAsString(this.rows);
    } catch (Exception e) {
      this.text = "[{\"error\": \"report failed\"}]";
    }
  }

  private boolean has(Object row) {
    for (int i = 0; i < this.rows.size(); i++) {
      if (this.rows.get(i) == row) return true;
    }
    return false;
  }

  private boolean isSame(Object now) {
    return now != null && (now == this.query || (now instanceof String && now.equals(this.query)));
  }

  /** True for a plan that reads tables, or did before a format answered it from its metadata. */
  private static boolean reads(LogicalPlan plan) {
    List leaves = new ArrayList();
    leaves(plan, leaves, 0);
    boolean answered = true;
    for (int i = 0; i < leaves.size(); i++) {
      LogicalPlan leaf = (LogicalPlan) leaves.get(i);
      if (isTable(leaf)) return true;
      answered = answered && ANSWERED.contains(name(leaf)) && !leaf.isStreaming();
    }
    if (!answered) return false;
    // where it is planned ahead of its execution, nothing tells what it was
    String execution = property(SQLExecution$.MODULE$.EXECUTION_ID_KEY());
    if (execution == null) return true;
    QueryExecution running = SQLExecution$.MODULE$.getQueryExecution(Long.parseLong(execution));
    return running != null && readsAny(running.analyzed());
  }

  private static boolean readsAny(LogicalPlan plan) {
    List leaves = new ArrayList();
    leaves(plan, leaves, 0);
    for (int i = 0; i < leaves.size(); i++) {
      if (isTable((LogicalPlan) leaves.get(i))) return true;
    }
    return false;
  }

  private static void leaves(LogicalPlan plan, List out, int depth) {
    if (depth > DEEPEST_PLAN) return;
    if (plan.children().isEmpty()) out.add(plan);
    scala.collection.Iterator below = plan.children().iterator();
    while (below.hasNext()) leaves((LogicalPlan) below.next(), out, depth + 1);
    scala.collection.Iterator subqueries = plan.subqueries().iterator();
    while (subqueries.hasNext()) leaves((LogicalPlan) subqueries.next(), out, depth + 1);
  }

  private static boolean isTable(LogicalPlan leaf) {
    if (leaf.isStreaming()) return false;
    if (!(leaf instanceof LogicalRelation)) return TABLES.contains(name(leaf));
    HadoopFsRelation files = FileScans.relation(leaf);
    // Delta reads its log by queries, some of them in threads of its own
    return files == null || !name(files.location()).equals("DeltaLogFileIndex");
  }

  /** What the queries of one command have in common; outside of any, the planning of a query. */
  private static Object running() {
    String execution = property(SQLExecution$.MODULE$.EXECUTION_ROOT_ID_KEY());
    if (execution != null) return execution;
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
