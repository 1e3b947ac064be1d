package lakesieve;

import java.lang.reflect.Constructor;
import java.util.Arrays;
import java.util.Timer;
import java.util.TimerTask;
import java.util.UUID;
import org.apache.spark.SparkContext;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.network.util.JavaUtils;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import ${sql}.SparkSession;
import ${sql}.SparkSession$;
import org.apache.spark.sql.connector.write.RowLevelOperationTable;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.execution.QueryExecution$;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.SQLConf$;
import scala.math.BigInt;
import scala.runtime.AbstractFunction0;

/**
 * Runs the small side of a join while the query is planned, within limits of rows, bytes and time.
 *
 * <p>Its rows then replace it in the plan, so that it runs once, and the keys are those of the rows
 * that are joined, whatever it reads.
 */
public final class JoinSide {
  /** The settings for the bytes, rows and seconds that a side may take. */
  public static final String BYTES = "spark.lakesieve.join.bytes";
  public static final String ROWS = "spark.lakesieve.join.rows";
  public static final String SECONDS = "spark.lakesieve.join.seconds";
  private static final String DESCRIPTION = "spark.job.description";
  private static final int FEWEST_SHUFFLE_PARTITIONS = 4;

  private final long bytes;
  private final int rows;
  private final long millis;

  /** Read the limits from the session's settings. */
  public JoinSide() {
    SQLConf conf = SQLConf$.MODULE$.get();
    String size = conf.getConfString(BYTES, "10m").trim();
    this.bytes = size.equalsIgnoreCase("off") ? 0 : JavaUtils.byteStringAsBytes(size);
    this.rows = Integer.parseInt(conf.getConfString(ROWS, "100000").trim());
    this.millis = (long) (1000 * Double.parseDouble(conf.getConfString(SECONDS, "20").trim()));
  }

  /** True when the settings leave no room for any side. */
  public boolean isOff() {
    return this.bytes <= 0 || this.rows <= 0 || this.millis <= 0;
  }

  /** Estimated bytes of a plan in its current form. */
  public static BigInt size(LogicalPlan plan) {
    plan.invalidateStatsCache();
    return plan.stats().sizeInBytes();
  }

  /** Null when a plan may be small enough to be run, else a sentence. */
  public String refusal(LogicalPlan plan) {
    if (plan.isStreaming()) return "the other side is a stream";
    if (refersOut(plan)) return "the other side is shared with other parts of the query";
    if (plan instanceof LocalRelation || isRowByRow(plan)) return null;
    plan.invalidateStatsCache();
    Statistics stats = plan.stats();
    if (stats.sizeInBytes().$greater(BigInt.apply(this.bytes))) {
      String size = stats.sizeInBytes() + " bytes";
      return "the other side is estimated at " + size + ", more than " + this.bytes;
    }
    if (stats.rowCount().isDefined()
        && ((BigInt) stats.rowCount().get()).$greater(BigInt.apply((long) this.rows))) {
      return "the other side has " + stats.rowCount().get() + " rows, more than " + this.rows;
    }
    return null;
  }

  /** True for a scan of a command, which looks at it later to learn what it has read. */
  private static boolean isOfCommand(LogicalPlan leaf) {
    if (!(leaf instanceof DataSourceV2ScanRelation)) return false;
    return ((DataSourceV2ScanRelation) leaf).relation().table() instanceof RowLevelOperationTable;
  }

  /** True for a plan that other parts of the query share, or that must stay where it is. */
  private static boolean refersOut(LogicalPlan plan) {
    String name = plan.nodeName();
    if (name.startsWith("CTERelation") || name.startsWith("UnionLoop")) return true;
    if (isOfCommand(plan)) return true;
    scala.collection.Iterator children = plan.children().iterator();
    while (children.hasNext()) {
      if (refersOut((LogicalPlan) children.next())) return true;
    }
    scala.collection.Iterator subqueries = plan.subqueries().iterator();
    while (subqueries.hasNext()) {
      if (refersOut((LogicalPlan) subqueries.next())) return true;
    }
    return false;
  }

  /** True for rows of an RDD whose number is unknown, but of which the first can be had alone. */
  private static boolean isRowByRow(LogicalPlan plan) {
    while (plan instanceof Filter || plan instanceof Project) {
      plan = (LogicalPlan) plan.children().apply(0);
    }
    return plan instanceof LogicalRDD;
  }

  /** Run a plan and return all of its rows. */
  public InternalRow[] run(LogicalPlan plan) throws Exception {
    if (plan instanceof LocalRelation) return localRows((LocalRelation) plan);
    InternalRow[] found;
    SparkSession session = SparkSession$.MODULE$.active();
    SparkContext context = session.sparkContext();
    String tag = "lakesieve-join-" + UUID.randomUUID();
    Cancel cancel = new Cancel(context, tag);
    Timer timer = new Timer("lakesieve-join", true);
    timer.schedule(cancel, this.millis);
    context.addJobTag(tag);
    String described = context.getLocalProperty(DESCRIPTION);
    context.setLocalProperty(DESCRIPTION, "lakesieve: small side of a join");
    SQLConf conf = fewShufflePartitions(context);
    try {
      Run run = new Run(session, plan, this.rows);
      found = (InternalRow[]) SQLConf$.MODULE$.withExistingConf(conf, run);
    } catch (Throwable t) {
      if (cancel.fired) {
        throw new TooLargeException("the other side took more than " + this.millis + " ms");
      }
      // a user who cancels this cancels the query, which it is a part of
      if (String.valueOf(t.getMessage()).contains("SPARK_JOB_CANCELLED")) {
        throw new CancelledException(t);
      }
      throw new IllegalStateException(String.valueOf(t), t);
    } finally {
      context.setLocalProperty(DESCRIPTION, described);
      context.removeJobTag(tag);
      timer.cancel();
    }
    if (found.length > this.rows) throw new TooLargeException(tooMany());
    long size = 0;
    for (InternalRow row : found) {
      if (row instanceof UnsafeRow) size += ((UnsafeRow) row).getSizeInBytes();
    }
    if (size > this.bytes) {
      throw new TooLargeException("the other side has " + size + " bytes, more than " + this.bytes);
    }
    return found;
  }

  private InternalRow[] localRows(LocalRelation plan) throws TooLargeException {
    scala.collection.Seq data = plan.data();
    if (data.size() > this.rows) throw new TooLargeException(tooMany());
    InternalRow[] found = new InternalRow[data.size()];
    for (int i = 0; i < found.length; i++) found[i] = (InternalRow) data.apply(i);
    return found;
  }

  private static SQLConf fewShufflePartitions(SparkContext context) {
    SQLConf conf = SQLConf$.MODULE$.get().clone();
    int most = Math.max(FEWEST_SHUFFLE_PARTITIONS, context.defaultParallelism());
    int partitions = Math.min(most, conf.numShufflePartitions());
    conf.setConfString("spark.sql.shuffle.partitions", String.valueOf(partitions));
    return conf;
  }

  private String tooMany() {
    return "the other side has more than " + this.rows + " rows";
  }

  /** Make a leaf of rows, with the columns of a plan. */
  public static LogicalPlan relation(LogicalPlan plan, InternalRow[] rows) throws Exception {
    ${Seq} data = PythonUtils.toSeq(Arrays.asList(rows)).toSeq();
    // the number of arguments differs between versions, the first three do not
    Constructor<?> constructor = LocalRelation.class.getConstructors()[0];
    Object[] arguments = new Object[constructor.getParameterCount()];
    arguments[0] = plan.output();
    arguments[1] = data;
    arguments[2] = false;
    for (int i = 3; i < arguments.length; i++) arguments[i] = scala.Option.empty();
    return (LogicalPlan) constructor.newInstance(arguments);
  }

  /** The other side is not as small as it seemed. */
  public static final class TooLargeException extends Exception {
    /** Make it with a sentence for the report. */
    public TooLargeException(String message) {
      super(message);
    }
  }

  /** The jobs of the query were cancelled from outside. */
  public static final class CancelledException extends RuntimeException {
    /** Make it of what Spark threw. */
    public CancelledException(Throwable cause) {
      super(cause);
    }
  }

  /** Plans and runs, without adaptive execution: its shuffles are few and small. */
  public static final class Run extends AbstractFunction0 {
    private final SparkSession session;
    private final LogicalPlan plan;
    private final int rows;

    /** Make it of a plan and the number of rows that it may have. */
    public Run(SparkSession session, LogicalPlan plan, int rows) {
      this.session = session;
      this.plan = plan;
      this.rows = rows;
    }

    /** Run the plan; returns one row more than allowed where it has more. */
    @Override
    public Object apply() {
      boolean stepwise = isRowByRow(this.plan);
      int most = this.rows == Integer.MAX_VALUE ? this.rows : this.rows + 1;
      LogicalPlan limited = this.plan;
      if (!stepwise) limited = new LocalLimit(Literal$.MODULE$.apply(most), this.plan);
      SparkPlan physical = QueryExecution$.MODULE$.prepareExecutedPlan(this.session, limited);
      return stepwise ? physical.executeTake(most) : physical.executeCollect();
    }
  }

  /** Ends the run when its time is over. */
  public static final class Cancel extends TimerTask {
    public volatile boolean fired = false;
    private final SparkContext context;
    private final String tag;

    /** Make it of the tag of the jobs. */
    public Cancel(SparkContext context, String tag) {
      this.context = context;
      this.tag = tag;
    }

    /** Cancel the jobs. */
    @Override
    public void run() {
      this.fired = true;
      this.context.cancelJobsWithTag(this.tag);
    }
  }
}
