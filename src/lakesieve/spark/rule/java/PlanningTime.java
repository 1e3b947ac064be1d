package lakesieve;

import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.SQLConf$;

/**
 * How long one query still waits for indexes: for all of its scans together, and besides for the keys
 * of its joins, which are many and have another limit.
 */
public final class PlanningTime {
  /** The setting for the seconds that a query waits. */
  public static final String SECONDS = "spark.lakesieve.planning.seconds";

  private long filters = 0; // nanoseconds
  private long keys = 0;

  /** Seconds that are left, 0 when there are none. */
  public synchronized double remaining(boolean ofKeys) {
    SQLConf conf = SQLConf$.MODULE$.get();
    double limit = Double.parseDouble(conf.getConfString(SECONDS, "2").trim());
    if (ofKeys) {
      limit = Math.max(limit, Double.parseDouble(conf.getConfString(JoinSide.SECONDS, "20").trim()));
    }
    return Math.max(0.0, limit - (ofKeys ? this.keys : this.filters) / 1e9);
  }

  /** Count the time that an answer took. */
  public synchronized void took(boolean ofKeys, long nanos) {
    if (ofKeys) this.keys += nanos;
    else this.filters += nanos;
  }
}
