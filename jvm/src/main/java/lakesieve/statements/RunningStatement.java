package lakesieve.statements;

import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * A running statement. A second thread does its work, so its own thread can hear a cancellation.
 *
 * <p>Connect and Thrift interrupt the thread of a statement, once. While this thread waited for
 * Python itself, or ran other code for Python, an interruption could get lost. Now the thread only
 * waits. It remembers an interruption, and Python asks before it starts a phase and publishes.
 */
public final class RunningStatement {
  private static final long AGAIN_MILLIS = 200;
  private static final ThreadLocal<RunningStatement> CURRENT = new ThreadLocal<>();

  private volatile boolean cancelled = false;

  private RunningStatement() {}

  /** Return whether the statement that this thread works for was cancelled. Python calls this. */
  public static boolean isCancelled() {
    RunningStatement current = CURRENT.get();
    // in a Python driver, the thread of a statement does the work itself
    return current == null ? Thread.currentThread().isInterrupted() : current.cancelled;
  }

  /**
   * Run the work of a statement in a new thread, and return its result.
   *
   * <p>After an interruption, this method still waits for the work, which may be about to publish
   * its result. So nothing of a statement goes on after its end.
   *
   * @param work the work; its thread inherits the local properties of Spark from this thread
   * @param cancelJobs cancels the Spark jobs of the work. The work may start another job
   *     afterwards, so this is called again and again
   */
  static String run(Callable<String> work, Runnable cancelJobs) throws Exception {
    RunningStatement statement = new RunningStatement();
    FutureTask<String> task = new FutureTask<>(() -> statement.call(work));
    Thread thread = new Thread(task, "lakesieve-statement");
    thread.setDaemon(true);
    thread.start();
    try {
      return statement.result(task, cancelJobs);
    } catch (ExecutionException e) {
      throw e.getCause() instanceof Exception cause ? cause : e;
    } finally {
      if (statement.cancelled) Thread.currentThread().interrupt();
    }
  }

  private String call(Callable<String> work) throws Exception {
    CURRENT.set(this);
    return work.call();
  }

  private String result(FutureTask<String> task, Runnable cancelJobs) throws ExecutionException {
    while (true) {
      try {
        return cancelled ? task.get(AGAIN_MILLIS, TimeUnit.MILLISECONDS) : task.get();
      } catch (InterruptedException e) {
        cancelled = true;
        cancelJobs.run();
      } catch (TimeoutException e) {
        cancelJobs.run();
      }
    }
  }
}
