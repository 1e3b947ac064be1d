package lakesieve.spark;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.ExperimentalMethods;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.internal.SessionState;

/** Parts of a session that a Spark Connect client does not have. */
public final class ClassicSessions {
  // private field of sessions
  private static final String STATE = "sessionState";

  private ClassicSessions() {}

  /** Return the session that is active in this thread. */
  public static SparkSession active() {
    return Classic.active();
  }

  /** Analyze a plan, and return its rows. */
  public static Dataset<Row> rows(SparkSession spark, LogicalPlan plan) {
    return Classic.rows(spark, plan);
  }

  /** Return the plan of a dataset before the optimizer. */
  public static LogicalPlan analyzed(Dataset<Row> rows) {
    return Classic.of(rows).queryExecution().analyzed();
  }

  /** Return the plan of a dataset after the optimizer. */
  public static LogicalPlan optimized(Dataset<Row> rows) {
    return Classic.of(rows).queryExecution().optimizedPlan();
  }

  /** Return the physical plan of an optimized plan, without adaptive execution. */
  public static SparkPlan prepareExecutedPlan(SparkSession spark, LogicalPlan plan) {
    return QueryExecution.prepareExecutedPlan(Classic.of(spark), plan);
  }

  /** Return whether a session has its state already; true if Spark does not tell. */
  public static boolean hasState(SparkSession spark) {
    try {
      Object classic = Classic.of(spark);
      return PrivateMembers.field(classic, classic.getClass(), STATE) != null;
    } catch (IllegalStateException e) {
      return true;
    }
  }

  /** Return the state of a session, which Spark makes at the first call. */
  public static SessionState state(SparkSession spark) {
    return Classic.of(spark).sessionState();
  }

  /** Return the class loader that sees all jars of the application. */
  public static ClassLoader jarLoader(SparkSession spark) {
    return Classic.of(spark).sharedState().jarClassLoader();
  }

  /** Return the rules that a session adds to Spark's own. */
  public static ExperimentalMethods experimental(SparkSession spark) {
    return Classic.of(spark).experimental();
  }

  /** Return the extensions of a session. */
  public static SparkSessionExtensions extensions(SparkSession spark) {
    return Classic.of(spark).extensions();
  }
}
