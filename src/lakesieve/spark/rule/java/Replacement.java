package lakesieve;

import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.Function1;
import scala.runtime.AbstractPartialFunction;

/** Replaces nodes of a plan, which are distinguished by identity: equal ones may keep other files. */
public final class Replacement extends AbstractPartialFunction {
  private final Map<LogicalPlan, LogicalPlan> replaced;

  /** Make it of other nodes by those that they replace, in an identity map. */
  public Replacement(Map<LogicalPlan, LogicalPlan> replaced) {
    this.replaced = replaced;
  }

  /** True for a node that is replaced. */
  @Override
  public boolean isDefinedAt(Object node) {
    return this.replaced.containsKey(node);
  }

  /** The node that replaces another, or what the function says. */
  @Override
  public Object applyOrElse(Object node, Function1 otherwise) {
    Object other = this.replaced.get(node);
    return other == null ? otherwise.apply(node) : other;
  }
}
