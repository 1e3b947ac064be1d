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
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.classic.SparkSession$;
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
 * <p>Its rows then stand in the plan, so that it runs once, and the keys are those of the rows that
 * are joined, whatever it reads.
 */
public final class JoinSide {
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

  public boolean isOff() {
    return this.bytes <= 0 || this.rows <= 0 || this.millis <= 0;
  }

  /** Estimated bytes of a plan as it is now. */
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
      return "the other side is estimated at " + stats.sizeInBytes() + " bytes, more than " + this.bytes;
    }
    if (stats.rowCount().isDefined()
        && ((BigInt) stats.rowCount().get()).$greater(BigInt.apply((long) this.rows))) {
      return "the other side has " + stats.rowCount().get() + " rows, more than " + this.rows;
    }
    return null;
  }

  /** Commands look at what their own scans have read. */
  private static boolean isOfCommand(LogicalPlan leaf) {
    if (!(leaf instanceof DataSourceV2ScanRelation)) return false;
    return ((DataSourceV2ScanRelation) leaf).relation().table() instanceof RowLevelOperationTable;
  }

  private static boolean refersOut(LogicalPlan plan) {
    if (plan.nodeName().startsWith("CTERelation") || plan.nodeName().startsWith("UnionLoop")) return true;
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

  /** All rows of a plan. */
  public InternalRow[] run(LogicalPlan plan) throws Exception {
    InternalRow[] found;
    if (plan instanceof LocalRelation) {
      scala.collection.Seq data = ((LocalRelation) plan).data();
      if (data.size() > this.rows) throw new TooLargeException(tooMany());
      found = new InternalRow[data.size()];
      for (int i = 0; i < found.length; i++) found[i] = (InternalRow) data.apply(i);
      return found;
    }
    SparkSession session = SparkSession$.MODULE$.active();
    SparkContext context = session.sparkContext();
    String tag = "lakesieve-join-" + UUID.randomUUID();
    Cancel cancel = new Cancel(context, tag);
    Timer timer = new Timer("lakesieve-join", true);
    timer.schedule(cancel, this.millis);
    context.addJobTag(tag);
    String described = context.getLocalProperty(DESCRIPTION);
    context.setLocalProperty(DESCRIPTION, "lakesieve: small side of a join");
    SQLConf few = SQLConf$.MODULE$.get().clone();
    int partitions = Math.max(FEWEST_SHUFFLE_PARTITIONS, context.defaultParallelism());
    few.setConfString(
        "spark.sql.shuffle.partitions", String.valueOf(Math.min(partitions, few.numShufflePartitions())));
    try {
      found = (InternalRow[]) SQLConf$.MODULE$.withExistingConf(few, new Run(session, plan, this.rows));
    } catch (Throwable t) {
      if (cancel.fired) throw new TooLargeException("the other side took more than " + this.millis + " ms");
      // the user's word counts for the query, which this is a part of
      if (String.valueOf(t.getMessage()).contains("SPARK_JOB_CANCELLED")) throw new CancelledException(t);
      throw new IllegalStateException(String.valueOf(t), t);
    } finally {
      context.setLocalProperty(DESCRIPTION, described);
      context.removeJobTag(tag);
      timer.cancel();
    }
    if (found.length > this.rows) throw new TooLargeException(tooMany());
    long size = 0;
    for (int i = 0; i < found.length; i++) {
      if (found[i] instanceof UnsafeRow) size += ((UnsafeRow) found[i]).getSizeInBytes();
    }
    if (size > this.bytes) {
      throw new TooLargeException("the other side has " + size + " bytes, more than " + this.bytes);
    }
    return found;
  }

  private String tooMany() {
    return "the other side has more than " + this.rows + " rows";
  }

  /** Rows as a leaf with the columns of a plan. */
  public static LogicalPlan relation(LogicalPlan plan, InternalRow[] rows) throws Exception {
    scala.collection.immutable.Seq data =
        PythonUtils.toSeq(Arrays.asList((Object[]) rows)).toSeq();
    // the number of arguments differs between versions, the first three do not
    Constructor constructor = LocalRelation.class.getConstructors()[0];
    Object[] arguments = new Object[constructor.getParameterCount()];
    arguments[0] = plan.output();
    arguments[1] = data;
    arguments[2] = Boolean.FALSE;
    for (int i = 3; i < arguments.length; i++) arguments[i] = scala.Option.empty();
    return (LogicalPlan) constructor.newInstance(arguments);
  }

  /** The other side is not as small as it seemed. */
  public static final class TooLargeException extends Exception {
    public TooLargeException(String message) {
      super(message);
    }
  }

  /** The jobs of the query were cancelled from outside. */
  public static final class CancelledException extends RuntimeException {
    public CancelledException(Throwable cause) {
      super(cause);
    }
  }

  /** Plans and runs, without adaptive execution: its shuffles are few and small. */
  public static final class Run extends AbstractFunction0 {
    private final SparkSession session;
    private final LogicalPlan plan;
    private final int rows;

    public Run(SparkSession session, LogicalPlan plan, int rows) {
      this.session = session;
      this.plan = plan;
      this.rows = rows;
    }

    public Object apply() {
      boolean stepwise = isRowByRow(this.plan);
      int most = this.rows == Integer.MAX_VALUE ? this.rows : this.rows + 1;
      LogicalPlan limited =
          stepwise ? this.plan : new LocalLimit(Literal$.MODULE$.apply(Integer.valueOf(most)), this.plan);
      SparkPlan physical = QueryExecution$.MODULE$.prepareExecutedPlan(this.session, limited);
      return stepwise ? physical.executeTake(most) : physical.executeCollect();
    }
  }

  /** Ends the run when its time is over. */
  public static final class Cancel extends TimerTask {
    public volatile boolean fired = false;
    private final SparkContext context;
    private final String tag;

    public Cancel(SparkContext context, String tag) {
      this.context = context;
      this.tag = tag;
    }

    public void run() {
      this.fired = true;
      this.context.cancelJobsWithTag(this.tag);
    }
  }
}
