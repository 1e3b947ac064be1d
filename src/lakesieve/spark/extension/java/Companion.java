package lakesieve;

import java.io.IOException;
import org.slf4j.LoggerFactory;

/** The child of this driver: started when it is first needed, and again, with pauses, when it ended. */
public final class Companion {
  private static final long LONGEST_PAUSE_NANOS = 60_000_000_000L;
  private static final long SHORTEST_PAUSE_NANOS = 1_000_000_000L;

  private static CompanionProcess process;
  private static String interpreter = "";
  private static String failure = "";
  private static int failures = 0;
  private static long notBefore = 0;

  private Companion() {}

  /**
   * The running process.
   *
   * @param python the interpreter; another one than before ends the process of that
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
      failed(process.ended(), process.isProven());
      process = null;
    }
    if (process != null) return process;
    long now = System.nanoTime();
    if (failures > 1 && now - notBefore < 0) {
      long seconds = (notBefore - now) / 1_000_000_000L + 1;
      throw new NoAnswerException(
          CompanionProcess.FAILED,
          "the companion process: " + failure + "; tried again in " + seconds + " s");
    }
    try {
      process = new CompanionProcess(python, version);
      LoggerFactory.getLogger("lakesieve").info("the companion process was started: " + python);
      return process;
    } catch (IOException e) {
      failed(String.valueOf(e.getMessage()), false);
      throw new NoAnswerException(CompanionProcess.FAILED, "the companion process: " + failure);
    }
  }

  private static void failed(String reason, boolean wasProven) {
    failure = reason;
    failures = wasProven ? 1 : failures + 1;
    // the first time at once
    long pause = SHORTEST_PAUSE_NANOS << Math.min(Math.max(failures - 2, 0), 6);
    notBefore = System.nanoTime() + Math.min(pause, LONGEST_PAUSE_NANOS);
    LoggerFactory.getLogger("lakesieve")
        .warn("the companion process failed, queries read all files meanwhile: " + reason);
  }
}
