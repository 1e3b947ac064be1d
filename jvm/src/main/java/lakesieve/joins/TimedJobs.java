package lakesieve.joins;

import java.util.Timer;
import java.util.TimerTask;
import java.util.UUID;
import org.apache.spark.SparkContext;

/** Cancels the Spark jobs that this thread starts until {@link #close}, once their time is over. */
final class TimedJobs implements AutoCloseable {
  private static final String DESCRIPTION = "spark.job.description";

  // repeat the cancellation, because a job may start after it
  private static final long AGAIN_MILLIS = 100;

  private final SparkContext context;
  private final String tag = "lakesieve-join-" + UUID.randomUUID();
  private final String description;
  private final Timer timer = new Timer("lakesieve-join", true);
  private volatile boolean late = false;

  TimedJobs(SparkContext context, long millis) {
    this.context = context;
    this.description = context.getLocalProperty(DESCRIPTION);
    TimerTask cancel =
        new TimerTask() {
          @Override
          public void run() {
            late = true;
            context.cancelJobsWithTag(tag);
          }
        };
    timer.schedule(cancel, millis, AGAIN_MILLIS);
    context.addJobTag(tag);
    context.setLocalProperty(DESCRIPTION, "lakesieve: small side of a join");
  }

  /** True once the time is over. */
  boolean isLate() {
    return late;
  }

  @Override
  public void close() {
    context.setLocalProperty(DESCRIPTION, description);
    context.removeJobTag(tag);
    timer.cancel();
  }
}
