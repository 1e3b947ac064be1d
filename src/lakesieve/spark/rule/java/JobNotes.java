package lakesieve;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkContext$;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.sql.execution.SQLExecution$;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd;

/**
 * Says in Spark's UI, as the description of a query's jobs, how many data files are read of how many.
 * A description of the user's own stays, and ours goes when the query ends.
 */
public final class JobNotes extends SparkListener {
  private static final String DESCRIPTION = "spark.job.description";
  private static final String BEGIN = "lakesieve reads ";
  private static final int SCANS = 5;

  private final Map running = new HashMap(); // the local properties of its thread, by execution
  private boolean listens = false;

  /** Describe the jobs that this thread starts until its query ends. */
  public synchronized void tell(List rows) {
    Here at = here();
    String text = text(rows);
    if (at == null || text == null) return;
    String before = at.properties.getProperty(DESCRIPTION);
    if (before != null && !before.startsWith(BEGIN)) return;
    if (!this.listens) at.context.addSparkListener(this);
    this.listens = true;
    at.properties.setProperty(DESCRIPTION, text);
    this.running.put(at.execution, at.properties);
  }

  /** Have nothing said of what this thread does next. */
  public void clear() {
    Here at = here();
    if (at != null) forget(at.properties);
  }

  public void onOtherEvent(SparkListenerEvent event) {
    if (!(event instanceof SparkListenerSQLExecutionEnd)) return;
    Object execution = String.valueOf(((SparkListenerSQLExecutionEnd) event).executionId());
    synchronized (this) {
      Properties properties = (Properties) this.running.remove(execution);
      if (properties != null && !this.running.containsValue(properties)) forget(properties);
    }
  }

  private static void forget(Properties properties) {
    String now = properties.getProperty(DESCRIPTION);
    if (now != null && now.startsWith(BEGIN)) properties.remove(DESCRIPTION);
  }

  private static String text(List rows) {
    StringBuilder text = new StringBuilder();
    int scans = 0;
    for (int i = 0; i < rows.size(); i++) {
      Map row = (Map) rows.get(i);
      Object total = row.get("files_total");
      Object read = row.get("files_read");
      if (total == null || read == null || total.equals(read) || ++scans > SCANS) continue;
      text.append(text.length() == 0 ? BEGIN : "; ");
      text.append(read + " of " + total + " data files of " + row.get("table"));
      text.append(" (index " + join((List) row.get("indexes")) + ")");
    }
    if (scans > SCANS) text.append("; and more");
    return text.length() == 0 ? null : text.toString();
  }

  private static String join(List names) {
    StringBuilder joined = new StringBuilder();
    for (int i = 0; names != null && i < names.size(); i++) {
      joined.append(i == 0 ? "" : ", ").append(names.get(i));
    }
    return joined.toString();
  }

  private static Here here() {
    scala.Option context = SparkContext$.MODULE$.getActive();
    if (!context.isDefined()) return null;
    Here at = new Here();
    at.context = (SparkContext) context.get();
    at.properties = at.context.getLocalProperties();
    at.execution = at.properties.getProperty(SQLExecution$.MODULE$.EXECUTION_ID_KEY());
    return at.execution == null ? null : at;
  }

  /** Where this thread stands. */
  private static final class Here {
    SparkContext context;
    Properties properties;
    String execution;
  }
}
