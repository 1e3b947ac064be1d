package lakesieve.statements;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import lakesieve.LakesieveExtensions;
import lakesieve.extension.ChildLog;
import lakesieve.extension.Companion;
import lakesieve.extension.SessionRule;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv$;
import org.apache.spark.api.python.Py4JServer;
import org.apache.spark.sql.SparkSession;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A Python process that joins the application and runs statements.
 *
 * <p>It uses the application through a server of PySpark on the loopback interface. The secret of
 * the server goes through the pipe to the process, so no command line has it. The process ends when
 * this pipe is closed: with the driver, or after a while without statements.
 */
public final class JoinedPython {
  private static final Logger LOG = LoggerFactory.getLogger("lakesieve");
  private static final String IDLE = "spark.lakesieve.statements.idleSeconds";
  private static final String FAILED = "build-failed";
  private static final Duration START = Duration.ofMinutes(2);
  private static final Duration END = Duration.ofSeconds(5);
  // the function of the process that is being started
  private static final BlockingQueue<BiFunction<SparkSession, String, String>> JOINED =
      new LinkedBlockingQueue<>();

  // guarded by the class, like the counts of statements
  private static JoinedPython current;
  private static SparkSession joining;

  private final Py4JServer server;
  private final Process process;
  private final OutputStream pipe;
  private BiFunction<SparkSession, String, String> function;
  private int running = 0;
  private long idleSince = 0;

  private JoinedPython(String python) throws IOException {
    SparkConf conf = SparkEnv$.MODULE$.get().conf();
    server = new Py4JServer(conf);
    server.start();
    try {
      // -P: do not load modules from the driver's current folder
      process =
          new ProcessBuilder(
                  python,
                  "-P",
                  "-m",
                  "lakesieve.spark.statements.joined",
                  LakesieveExtensions.version())
              .redirectErrorStream(true)
              .start();
    } catch (IOException e) {
      server.shutdown();
      throw e;
    }
    pipe = process.getOutputStream();
  }

  /**
   * Take the function of a process that has joined. Only the process calls this.
   *
   * @return the session that sessions without a session of their own use
   */
  public static SparkSession join(BiFunction<SparkSession, String, String> function) {
    SparkSession session = joining;
    JOINED.add(function);
    return session;
  }

  /** Run a statement in the process, and return its rows as JSON. */
  static String run(SparkSession session, String statement) throws StatementException {
    JoinedPython python = acquired(session);
    try {
      return python.function.apply(session, statement);
    } catch (RuntimeException e) { // the call failed; errors of the statement are in its answer
      if (!python.process.isAlive()) SessionRule.restore(session);
      throw new StatementException(
          FAILED,
          "The Python process that ran the statement failed: " + e.getMessage() + ".",
          "The driver's log has its output. Run the statement again.");
    } finally {
      synchronized (JoinedPython.class) {
        python.running--;
        python.idleSince = System.nanoTime();
      }
    }
  }

  /** Return a process that does not end before the statement is done. */
  private static synchronized JoinedPython acquired(SparkSession session)
      throws StatementException {
    if (current != null && !current.process.isAlive()) {
      current.end();
      current = null;
    }
    if (current == null) current = started(session);
    current.running++;
    return current;
  }

  private static JoinedPython started(SparkSession session) throws StatementException {
    String python = Companion.python();
    try {
      JoinedPython started = new JoinedPython(python);
      joining =
          SparkSession.getDefaultSession().isDefined()
              ? SparkSession.getDefaultSession().get()
              : session;
      try {
        started.function = started.joined(python);
      } finally {
        joining = null;
        if (started.function == null) started.end();
      }
      LOG.info("a Python process joined the application: {}", python);
      started.endWhenIdle();
      return started;
    } catch (IOException | InterruptedException e) {
      throw notStarted(python, String.valueOf(e.getMessage()));
    }
  }

  /** Send the process what it needs to join, and wait until it has. */
  private BiFunction<SparkSession, String, String> joined(String python)
      throws IOException, InterruptedException, StatementException {
    ChildLog log = ChildLog.of(process.inputReader(StandardCharsets.UTF_8), "statements");
    Map<String, Object> offer =
        Map.of(
            "port", server.getListeningPort(),
            "secret", server.secret(),
            "spark", org.apache.spark.package$.MODULE$.SPARK_VERSION(),
            "python", python);
    JOINED.clear();
    try {
      pipe.write((new ObjectMapper().writeValueAsString(offer) + "\n").getBytes("UTF-8"));
      pipe.flush();
    } catch (IOException e) {
      // the process has ended, and its output says why
    }
    long limit = System.nanoTime() + START.toNanos();
    while (System.nanoTime() < limit) {
      var function = JOINED.poll(100, TimeUnit.MILLISECONDS);
      if (function != null) return function;
      if (!process.isAlive()) {
        // its last line may still be on its way
        Thread.sleep(100);
        throw notStarted(python, log.lastLine());
      }
    }
    throw notStarted(python, "it did not join in " + START.toSeconds() + " s");
  }

  private static StatementException notStarted(String python, String reason) {
    return new StatementException(
        "dependency-missing",
        "The Python process for statements about indexes did not start (%s): %s"
            .formatted(python, reason),
        "Set spark.lakesieve.python to a Python with lakesieve, pandas and the PySpark of this"
            + " version of Spark.");
  }

  private void endWhenIdle() {
    long idle = SparkEnv$.MODULE$.get().conf().getTimeAsSeconds(IDLE, "300s");
    Thread thread =
        new Thread(() -> waitAndEnd(TimeUnit.SECONDS.toNanos(idle)), "lakesieve-statements-idle");
    thread.setDaemon(true);
    thread.start();
  }

  private void waitAndEnd(long idleNanos) {
    try {
      while (process.isAlive()) {
        process.waitFor(Math.min(idleNanos, START.toNanos()), TimeUnit.NANOSECONDS);
        synchronized (JoinedPython.class) {
          boolean isIdle = running == 0 && System.nanoTime() - idleSince >= idleNanos;
          if (!isIdle && process.isAlive()) continue;
          if (current == this) current = null;
        }
        break;
      }
    } catch (InterruptedException e) {
      // the driver ends
    }
    end();
  }

  private void end() {
    try {
      pipe.close();
    } catch (IOException e) {
      // the process has ended
    }
    server.shutdown();
    try {
      if (process.waitFor(END.toSeconds(), TimeUnit.SECONDS)) return;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    process.destroyForcibly();
  }
}
