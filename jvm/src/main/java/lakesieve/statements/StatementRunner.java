package lakesieve.statements;

import java.util.UUID;
import java.util.function.BiFunction;
import lakesieve.spark.ClassicSessions;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.SparkSession;

/** Runs statements in the Python process of the driver, or in one that joins the application. */
public final class StatementRunner {
  private static volatile BiFunction<SparkSession, String, String> driver;

  private StatementRunner() {}

  /**
   * Run statements in a Python driver from now on.
   *
   * @param function takes a session and a statement as JSON, and returns rows as JSON
   */
  public static void runInDriver(BiFunction<SparkSession, String, String> function) {
    driver = function;
  }

  /** Run a statement, and return its rows as JSON. */
  static String run(SparkSession session, String statement) throws Exception {
    Thread thread = Thread.currentThread();
    ClassLoader before = thread.getContextClassLoader();
    // the loaders of Thrift and Connect do not see the jars of the application
    thread.setContextClassLoader(ClassicSessions.jarLoader(session));
    try {
      BiFunction<SparkSession, String, String> inDriver = driver;
      return inDriver == null ? runJoined(session, statement) : inDriver.apply(session, statement);
    } finally {
      thread.setContextClassLoader(before);
    }
  }

  private static String runJoined(SparkSession session, String statement) throws Exception {
    SparkContext context = session.sparkContext();
    String tag = "lakesieve-statement-" + UUID.randomUUID();
    return RunningStatement.run(
        () -> {
          context.addJobTag(tag);
          return JoinedPython.run(session, statement);
        },
        () -> context.cancelJobsWithTag(tag));
  }
}
