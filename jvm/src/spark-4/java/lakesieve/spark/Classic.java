package lakesieve.spark;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** The classes of sessions and datasets that run on Spark itself. They differ since Spark 4. */
final class Classic {
  private Classic() {}

  /** Return the session that is active in this thread. */
  static SparkSession active() {
    return org.apache.spark.sql.classic.SparkSession.active();
  }

  /** Cast a session to one that runs on Spark itself. */
  static org.apache.spark.sql.classic.SparkSession of(SparkSession spark) {
    return (org.apache.spark.sql.classic.SparkSession) spark;
  }

  /** Cast a dataset to one that runs on Spark itself. */
  static org.apache.spark.sql.classic.Dataset<Row> of(Dataset<Row> rows) {
    return (org.apache.spark.sql.classic.Dataset<Row>) rows;
  }

  /** Analyze a plan, and return its rows. */
  static Dataset<Row> rows(SparkSession spark, LogicalPlan plan) {
    return org.apache.spark.sql.classic.Dataset.ofRows(of(spark), plan);
  }
}
