package lakesieve.rule;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.WeakHashMap;
import java.util.stream.Collectors;
import lakesieve.spark.Scala;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkContext$;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.sql.execution.SQLExecution;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd;
import org.slf4j.LoggerFactory;

/**
 * Shows in Spark's UI, as the description of a query's jobs, how many data files are read of how
 * many, and logs the same. A description that the user has set stays. The description is removed
 * when the query ends. All sessions of an application share one object.
 */
public final class JobNotes extends SparkListener {
  private static final String DESCRIPTION = "spark.job.description";
  // the same text, even if the user has set a description; readers of event logs use it
  private static final String NOTE = "lakesieve.files";
  private static final String BEGIN = "lakesieve reads ";
  private static final int SCANS = 5;
  private static final Map<SparkContext, JobNotes> APPLICATIONS = new WeakHashMap<>();

  // the local properties of the thread, by the execution that it runs
  private final Map<String, Properties> running = new HashMap<>();

  private JobNotes() {}

  /** Describe the jobs that this thread starts until its query ends. */
  static void describe(List<ScanOutcome> scans) {
    RunningQuery query = RunningQuery.current();
    String text = query == null ? null : text(scans);
    if (text == null) return;
    String before = query.properties.getProperty(DESCRIPTION);
    if (!text.equals(before)) LoggerFactory.getLogger("lakesieve").info(text);
    query.properties.setProperty(NOTE, text);
    if (before == null || before.startsWith(BEGIN)) {
      query.properties.setProperty(DESCRIPTION, text);
    }
    of(query.context).remember(query);
  }

  /** Remove the description from the jobs that this thread starts next. */
  static void clear() {
    RunningQuery query = RunningQuery.current();
    if (query != null) forget(query.properties);
  }

  private static JobNotes of(SparkContext context) {
    synchronized (APPLICATIONS) {
      return APPLICATIONS.computeIfAbsent(
          context,
          unknown -> {
            JobNotes notes = new JobNotes();
            context.addSparkListener(notes);
            return notes;
          });
    }
  }

  private synchronized void remember(RunningQuery query) {
    running.put(query.execution, query.properties);
  }

  /** Remove the description from the thread of a query that has ended. */
  @Override
  public void onOtherEvent(SparkListenerEvent event) {
    if (!(event instanceof SparkListenerSQLExecutionEnd end)) return;
    synchronized (this) {
      Properties properties = running.remove(String.valueOf(end.executionId()));
      if (properties != null && !running.containsValue(properties)) forget(properties);
    }
  }

  private static void forget(Properties properties) {
    properties.remove(NOTE);
    String current = properties.getProperty(DESCRIPTION);
    if (current != null && current.startsWith(BEGIN)) properties.remove(DESCRIPTION);
  }

  /** Return the text about the scans that skip files, or null when none does. */
  static String text(List<ScanOutcome> scans) {
    List<ScanOutcome> pruned = scans.stream().filter(scan -> scan.read != scan.total).toList();
    if (pruned.isEmpty()) return null;
    String more = pruned.size() > SCANS ? "; and more" : "";
    return pruned.stream()
        .limit(SCANS)
        .map(JobNotes::text)
        .collect(Collectors.joining("; ", BEGIN, more));
  }

  private static String text(ScanOutcome scan) {
    String names = scan.indexes.stream().map(String::valueOf).collect(Collectors.joining(", "));
    String files = scan.read + " of " + scan.total + " data files of " + scan.table;
    return files + " (index " + names + ")";
  }

  /**
   * The query that a thread runs.
   *
   * @param properties the thread's local properties
   * @param execution the query's number in Spark's UI
   */
  private record RunningQuery(SparkContext context, Properties properties, String execution) {
    /** That of this thread, or null. */
    static RunningQuery current() {
      SparkContext context = Scala.orNull(SparkContext$.MODULE$.getActive());
      if (context == null) return null;
      Properties properties = context.getLocalProperties();
      String execution = properties.getProperty(SQLExecution.EXECUTION_ID_KEY());
      return execution == null ? null : new RunningQuery(context, properties, execution);
    }
  }
}
