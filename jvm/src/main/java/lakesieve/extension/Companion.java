package lakesieve.extension;

import java.io.IOException;
import java.util.concurrent.TimeUnit;
import lakesieve.rule.NoAnswerException;
import org.apache.spark.SparkEnv$;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The child process of this driver. It is started when it is first needed, and again after it
 * ended: the first time at once, later after pauses that double.
 */
public final class Companion {
  private static final String PYTHON = "spark.lakesieve.python";
  private static final Logger LOG = LoggerFactory.getLogger("lakesieve");
  private static final long SHORTEST_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);
  private static final long LONGEST_PAUSE_NANOS = TimeUnit.MINUTES.toNanos(1);
  private static final int MOST_DOUBLINGS = 6;

  private static CompanionProcess process;
  private static String interpreter = "";
  private static String failure = "";
  private static int failures = 0;
  private static long notBefore = 0;

  private Companion() {}

  /**
   * Return the interpreter of child processes. This is a setting of the application, because users
   * who may send queries must not be able to start programs.
   */
  public static String python() {
    return SparkEnv$.MODULE$.get().conf().get(PYTHON, "python3").trim();
  }

  /**
   * Return the running process.
   *
   * @param python the interpreter; another one than before ends the process of that one
   * @param version of lakesieve
   */
  public static synchronized CompanionProcess process(String python, String version) {
    if (!python.equals(interpreter)) {
      if (process != null) process.end("another interpreter was set");
      process = null;
      interpreter = python;
      failures = 0;
    }
    if (process != null && process.ended() != null) {
      noteFailure(process.ended(), process.isProven());
      process = null;
    }
    if (process == null) process = started(python, version);
    return process;
  }

  private static CompanionProcess started(String python, String version) {
    long pause = notBefore - System.nanoTime();
    if (failures > 1 && pause > 0) {
      long seconds = TimeUnit.NANOSECONDS.toSeconds(pause) + 1;
      throw noAnswer(failure + "; next attempt in " + seconds + " s");
    }
    try {
      CompanionProcess started = new CompanionProcess(python, version);
      LOG.info("the companion process was started: {}", python);
      return started;
    } catch (IOException e) {
      noteFailure(String.valueOf(e.getMessage()), false);
      throw noAnswer(failure);
    }
  }

  private static NoAnswerException noAnswer(String reason) {
    return new NoAnswerException(CompanionProcess.FAILED, "the companion process: " + reason);
  }

  private static void noteFailure(String reason, boolean wasProven) {
    failure = reason;
    failures = wasProven ? 1 : failures + 1;
    int doublings = Math.min(Math.max(failures - 2, 0), MOST_DOUBLINGS);
    notBefore =
        System.nanoTime() + Math.min(SHORTEST_PAUSE_NANOS << doublings, LONGEST_PAUSE_NANOS);
    LOG.warn(
        "the companion process failed; queries read all files until it is started again: {}",
        reason);
  }
}
