package lakesieve.build;

import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CopyOnWriteArraySet;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.streaming.StreamingQueryListener;
import org.apache.spark.sql.util.QueryExecutionListener;
import org.slf4j.LoggerFactory;

/**
 * Reports the tables that the commands and streams of a session write to, after each one has ended.
 * It runs in a thread of Spark's own, and delays nothing.
 */
// Spark's listeners are serializable, but this one is never serialized
@SuppressWarnings("serial")
public final class WrittenTables extends StreamingQueryListener implements QueryExecutionListener {
  // streams whose plans do not name a table: the sink has format and path
  private static final Pattern SINK = Pattern.compile("(Delta|Hoodie\\w*|File\\w*)Sink\\[(.*)\\]");
  private static final String ICEBERG = "org.apache.iceberg.events.Listeners";

  // listeners of sessions that receive Iceberg's rewrites
  private static final Set<WrittenTables> HEARING = new CopyOnWriteArraySet<>();
  private static boolean hearsOfRewrites = false;

  private final Function<String, String> python;

  /**
   * Make a listener for a session.
   *
   * @param python takes names of tables, separated by the character 0, and answers nothing
   */
  public WrittenTables(Function<String, String> python) {
    this.python = python;
  }

  /** Listen to the rewrites of Iceberg's procedures as well. */
  public void begin() {
    HEARING.add(this);
    try {
      hearOfRewrites();
    } catch (Exception | LinkageError e) {
      warn(e);
    }
  }

  /** Stop listening to them. */
  public void end() {
    HEARING.remove(this);
  }

  private static synchronized void hearOfRewrites() {
    if (hearsOfRewrites || !hasIceberg()) return;
    IcebergRewrites.hear(WrittenTables::reportRewrite);
    hearsOfRewrites = true;
  }

  private static boolean hasIceberg() {
    try {
      Class.forName(ICEBERG, false, WrittenTables.class.getClassLoader());
      return true;
    } catch (ClassNotFoundException e) {
      return false;
    }
  }

  /** Report a table of Iceberg to all sessions: Iceberg does not say whose rewrite it was. */
  private static void reportRewrite(String table) {
    for (WrittenTables listener : HEARING) {
      // a failure in one session must not keep the others from receiving the table
      listener.report(() -> List.of(WriteTargets.named(table)));
    }
  }

  @Override
  public void onSuccess(String name, QueryExecution query, long nanoseconds) {
    report(() -> WriteTargets.of(query.analyzed()));
  }

  @Override
  public void onFailure(String name, QueryExecution query, Exception error) {}

  @Override
  public void onQueryStarted(QueryStartedEvent event) {}

  @Override
  public void onQueryProgress(QueryProgressEvent event) {
    report(() -> sinkTable(event.progress().sink().description()).stream().toList());
  }

  @Override
  public void onQueryTerminated(QueryTerminatedEvent event) {}

  /** The table of a stream's sink, by its format and path. */
  static Optional<String> sinkTable(String description) {
    Matcher sink = SINK.matcher(description);
    if (!sink.matches()) return Optional.empty();
    String kind = sink.group(1);
    String format = kind.equals("Delta") ? "delta" : kind.startsWith("File") ? "parquet" : "hudi";
    return Optional.of(format + ":" + sink.group(2));
  }

  /** Send the result of a search to Python. A failure only means that no index is refreshed. */
  private void report(Callable<Collection<String>> search) {
    try {
      Collection<String> tables = search.call();
      if (!tables.isEmpty()) python.apply(String.join("\0", tables));
    } catch (Throwable t) { // also errors of classes that cannot be linked
      warn(t);
    }
  }

  private static void warn(Throwable t) {
    LoggerFactory.getLogger("lakesieve").warn("no refresh after a write: " + t);
  }
}
