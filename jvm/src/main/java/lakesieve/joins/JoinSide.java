package lakesieve.joins;

import java.lang.reflect.Constructor;
import java.util.Arrays;
import lakesieve.spark.ClassicSessions;
import lakesieve.spark.Scala;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.apache.spark.sql.connector.write.RowLevelOperationTable;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.util.Utils;
import scala.collection.Seq;
import scala.math.BigInt;

/**
 * Runs the small side of a join while the query is planned, within limits of rows, bytes and time.
 *
 * <p>Its rows then replace it in the plan. So the side runs only once, and the keys are exactly
 * those of the joined rows.
 */
public final class JoinSide {
  /** The settings for the bytes, rows and seconds that a side may take. */
  public static final String BYTES = "spark.lakesieve.join.bytes";

  public static final String ROWS = "spark.lakesieve.join.rows";
  public static final String SECONDS = "spark.lakesieve.join.seconds";

  private static final int FEWEST_SHUFFLE_PARTITIONS = 4;
  // the number of arguments differs between versions, but the first three are the same
  private static final Constructor<?> RELATION = LocalRelation.class.getConstructors()[0];

  private final long bytes;
  private final int rows;
  private final long millis;

  /** Read the limits from the session's settings. */
  JoinSide() {
    this(SQLConf.get());
  }

  private JoinSide(SQLConf conf) {
    String size = conf.getConfString(BYTES, "10m").trim();
    bytes = size.equalsIgnoreCase("off") ? 0 : Utils.byteStringAsBytes(size);
    rows = Integer.parseInt(conf.getConfString(ROWS, "100000").trim());
    millis = (long) (1000 * Double.parseDouble(conf.getConfString(SECONDS, "20").trim()));
  }

  /** True for a plan that is never run as the small side of a join, because it exceeds a limit. */
  public static boolean isTooLarge(SparkSession session, LogicalPlan plan) {
    JoinSide limits = new JoinSide(ClassicSessions.state(session).conf());
    return !limits.isOff() && limits.refusal(plan) != null;
  }

  /** True when the settings leave no room for any side. */
  boolean isOff() {
    return bytes <= 0 || rows <= 0 || millis <= 0;
  }

  /** Estimated bytes of a plan in its current form. */
  static BigInt size(LogicalPlan plan) {
    plan.invalidateStatsCache();
    return plan.stats().sizeInBytes();
  }

  /** Null if a plan may be small enough to run, else the reason as a sentence. */
  String refusal(LogicalPlan plan) {
    if (plan.isStreaming()) return "the other side is a stream";
    if (refersOut(plan)) return "the other side is shared with other parts of the query";
    if (plan instanceof LocalRelation || isRowByRow(plan)) return null;
    plan.invalidateStatsCache();
    Statistics stats = plan.stats();
    if (isMore(stats.sizeInBytes(), bytes)) {
      String size = stats.sizeInBytes() + " bytes";
      return "the other side is estimated at " + size + ", more than " + bytes;
    }
    BigInt count = Scala.orNull(stats.rowCount());
    if (count != null && isMore(count, rows)) {
      return "the other side has " + count + " rows, more than " + rows;
    }
    return null;
  }

  private static boolean isMore(BigInt number, long limit) {
    return number.compare(BigInt.apply(limit)) > 0;
  }

  /** True for a plan that other parts of the query share, or that must stay at its place. */
  private static boolean refersOut(LogicalPlan plan) {
    String name = plan.nodeName();
    if (name.startsWith("CTERelation") || name.startsWith("UnionLoop")) return true;
    // a command checks later what its scan has read
    if (plan instanceof DataSourceV2ScanRelation leaf
        && leaf.relation().table() instanceof RowLevelOperationTable) {
      return true;
    }
    for (LogicalPlan child : Scala.list(plan.children())) {
      if (refersOut(child)) return true;
    }
    for (LogicalPlan subquery : Scala.list(plan.subqueries())) {
      if (refersOut(subquery)) return true;
    }
    return false;
  }

  /** True for rows of an RDD whose number is unknown, but whose first rows can be read alone. */
  private static boolean isRowByRow(LogicalPlan plan) {
    LogicalPlan n = plan;
    while (n instanceof Filter || n instanceof Project) n = n.children().apply(0);
    return n instanceof LogicalRDD;
  }

  /** Run a plan and return all of its rows. */
  InternalRow[] run(LogicalPlan plan) throws TooLargeException {
    if (plan instanceof LocalRelation local) return localRows(local);
    SparkSession session = ClassicSessions.active();
    SparkContext context = session.sparkContext();
    SQLConf conf = fewShufflePartitions(context);
    InternalRow[] found;
    TimedJobs jobs = new TimedJobs(context, millis);
    try {
      found = SQLConf.withExistingConf(conf, () -> collect(session, plan, jobs));
    } catch (Throwable t) {
      if (jobs.isLate()) {
        throw new TooLargeException("the other side took more than " + millis + " ms");
      }
      // if a user cancels these jobs, the whole query is cancelled
      if (String.valueOf(t.getMessage()).contains("SPARK_JOB_CANCELLED")) {
        throw new CancelledException(t);
      }
      throw new IllegalStateException(String.valueOf(t), t);
    } finally {
      jobs.close();
    }
    if (found.length > rows) throw new TooLargeException(tooMany());
    long size = 0;
    for (InternalRow row : found) {
      if (row instanceof UnsafeRow unsafe) size += unsafe.getSizeInBytes();
    }
    if (size > bytes) {
      throw new TooLargeException("the other side has " + size + " bytes, more than " + bytes);
    }
    return found;
  }

  /**
   * Plan and run, without adaptive execution: its shuffles are few and small.
   *
   * @return one row more than allowed where there are more
   */
  private InternalRow[] collect(SparkSession session, LogicalPlan plan, TimedJobs jobs) {
    boolean stepwise = isRowByRow(plan);
    int most = rows == Integer.MAX_VALUE ? rows : rows + 1;
    LogicalPlan limited =
        stepwise ? plan : new LocalLimit(new Literal(most, DataTypes.IntegerType), plan);
    SparkPlan physical = ClassicSessions.prepareExecutedPlan(session, limited);
    // there was no job yet that could have been cancelled
    if (jobs.isLate()) throw new IllegalStateException("planning took too long");
    return stepwise ? physical.executeTake(most) : physical.executeCollect();
  }

  private InternalRow[] localRows(LocalRelation plan) throws TooLargeException {
    Seq<InternalRow> data = plan.data();
    if (data.size() > rows) throw new TooLargeException(tooMany());
    return Scala.list(data).toArray(InternalRow[]::new);
  }

  private static SQLConf fewShufflePartitions(SparkContext context) {
    SQLConf conf = SQLConf.get().clone();
    int most = Math.max(FEWEST_SHUFFLE_PARTITIONS, context.defaultParallelism());
    int partitions = Math.min(most, conf.numShufflePartitions());
    conf.setConfString("spark.sql.shuffle.partitions", String.valueOf(partitions));
    return conf;
  }

  private String tooMany() {
    return "the other side has more than " + rows + " rows";
  }

  /** Make a leaf of rows, with the columns of a plan. */
  static LogicalPlan relation(LogicalPlan plan, InternalRow[] rows)
      throws ReflectiveOperationException {
    Object[] arguments = new Object[RELATION.getParameterCount()];
    Arrays.fill(arguments, scala.Option.empty());
    arguments[0] = plan.output();
    arguments[1] = Scala.seq(Arrays.asList(rows));
    arguments[2] = false;
    return (LogicalPlan) RELATION.newInstance(arguments);
  }

  /** The other side is larger than estimated. */
  static final class TooLargeException extends Exception {
    private static final long serialVersionUID = 1;

    TooLargeException(String message) {
      super(message);
    }
  }

  /** The jobs of the query were cancelled from outside. */
  public static final class CancelledException extends RuntimeException {
    private static final long serialVersionUID = 1;

    CancelledException(Throwable cause) {
      super(cause);
    }
  }
}
