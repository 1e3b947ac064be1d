package lakesieve.spark;

import java.util.List;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import scala.collection.immutable.Seq;

/** A strategy of Spark's planner. It hides {@code Seq}, whose type differs between versions. */
public abstract class PlanStrategy extends SparkStrategy {
  /** Return physical plans of a plan; none leaves the plan to other strategies. */
  protected abstract List<SparkPlan> plans(LogicalPlan plan);

  @Override
  public final Seq<SparkPlan> apply(LogicalPlan plan) {
    return Scala.seq(plans(plan));
  }
}
