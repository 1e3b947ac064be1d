package lakesieve.rule;

import lakesieve.joins.JoinSide;
import org.apache.spark.sql.internal.SQLConf;

/**
 * The time that one query may still wait for indexes. All of its scans share one limit, and the
 * keys of its joins share another, because there are many keys.
 */
public final class PlanningTime {
  /** The setting for the seconds that a query waits. */
  public static final String SECONDS = "spark.lakesieve.planning.seconds";

  // nanoseconds
  private long filters = 0;
  private long keys = 0;

  /**
   * Seconds that remain, 0 if there are none.
   *
   * @param ofKeys whether the keys of joins wait, not the filters of scans
   */
  public synchronized double remaining(boolean ofKeys) {
    double limit = seconds(SECONDS, "2");
    if (ofKeys) limit = Math.max(limit, seconds(JoinSide.SECONDS, "20"));
    return Math.max(0.0, limit - (ofKeys ? keys : filters) / 1e9);
  }

  /** Count the time that an answer took. */
  public synchronized void took(boolean ofKeys, long nanos) {
    if (ofKeys) keys += nanos;
    else filters += nanos;
  }

  private static double seconds(String setting, String byDefault) {
    return Double.parseDouble(SQLConf.get().getConfString(setting, byDefault).trim());
  }
}
