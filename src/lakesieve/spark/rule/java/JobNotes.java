package lakesieve;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.WeakHashMap;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkContext$;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.sql.execution.SQLExecution$;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd;
import org.slf4j.LoggerFactory;

/**
 * Shows in Spark's UI, as the description of a query's jobs, how many data files are read of how many,
 * and says the same in the log. A description that the user has set stays, and this one goes when the
 * query ends. There is one for all sessions of an application.
 */
public final class JobNotes extends SparkListener {
  private static final String DESCRIPTION = "spark.job.description";
  // the same, also where the user has set a description: what event logs are read by
  private static final String NOTE = "lakesieve.files";
  private static final String BEGIN = "lakesieve reads ";
  private static final int SCANS = 5;
  private static final Map<SparkContext, JobNotes> APPLICATIONS = new WeakHashMap<>();

  // the local properties of the thread, by the execution that it runs
  private final Map<String, Properties> running = new HashMap<>();

  private JobNotes() {}

  /** Describe the jobs that this thread starts until its query ends. */
  public static void describe(List<Map<String, Object>> rows) {
    QueryContext query = QueryContext.current();
    String text = text(rows);
    if (query == null || text == null) return;
    String before = query.properties.getProperty(DESCRIPTION);
    if (!text.equals(before)) LoggerFactory.getLogger("lakesieve").info(text);
    query.properties.setProperty(NOTE, text);
    if (before == null || before.startsWith(BEGIN)) {
      query.properties.setProperty(DESCRIPTION, text);
    }
    of(query.context).remember(query);
  }

  /** Take the description off the jobs that this thread starts next. */
  public static void clear() {
    QueryContext query = QueryContext.current();
    if (query != null) forget(query.properties);
  }

  private static JobNotes of(SparkContext context) {
    synchronized (APPLICATIONS) {
      JobNotes notes = (JobNotes) APPLICATIONS.get(context);
      if (notes == null) {
        notes = new JobNotes();
        context.addSparkListener(notes);
        APPLICATIONS.put(context, notes);
      }
      return notes;
    }
  }

  private synchronized void remember(QueryContext query) {
    this.running.put(query.execution, query.properties);
  }

  /** Take the description off the thread of a query that has ended. */
  @Override
  public void onOtherEvent(SparkListenerEvent event) {
    if (!(event instanceof SparkListenerSQLExecutionEnd)) return;
    String execution = String.valueOf(((SparkListenerSQLExecutionEnd) event).executionId());
    synchronized (this) {
      Properties properties = (Properties) this.running.remove(execution);
      if (properties != null && !this.running.containsValue(properties)) forget(properties);
    }
  }

  private static void forget(Properties properties) {
    properties.remove(NOTE);
    String current = properties.getProperty(DESCRIPTION);
    if (current != null && current.startsWith(BEGIN)) properties.remove(DESCRIPTION);
  }

  private static String text(List<Map<String, Object>> rows) {
    StringBuilder text = new StringBuilder();
    int scans = 0;
    for (Map<String, Object> row : rows) {
      Object total = row.get("files_total");
      Object read = row.get("files_read");
      if (total == null || read == null || total.equals(read) || ++scans > SCANS) continue;
      text.append(text.length() == 0 ? BEGIN : "; ");
      text.append(read + " of " + total + " data files of " + row.get("table"));
      text.append(" (index " + join((List<Object>) row.get("indexes")) + ")");
    }
    if (scans > SCANS) text.append("; and more");
    return text.length() == 0 ? null : text.toString();
  }

  private static String join(List<Object> names) {
    if (names == null) return "";
    StringBuilder joined = new StringBuilder();
    for (Object name : names) joined.append(joined.length() == 0 ? "" : ", ").append(name);
    return joined.toString();
  }

  /** The query that a thread runs. */
  private static final class QueryContext {
    SparkContext context;
    Properties properties;
    String execution;

    /** That of this thread, or null. */
    static QueryContext current() {
      scala.Option context = SparkContext$.MODULE$.getActive();
      if (!context.isDefined()) return null;
      QueryContext query = new QueryContext();
      query.context = (SparkContext) context.get();
      query.properties = query.context.getLocalProperties();
      query.execution = query.properties.getProperty(SQLExecution$.MODULE$.EXECUTION_ID_KEY());
      return query.execution == null ? null : query;
    }
  }
}
