package lakesieve.rule;

import lakesieve.spark.Scala;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InputFileName;
import org.apache.spark.sql.catalyst.expressions.MonotonicallyIncreasingID;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;

/** Properties of single nodes of a plan: which rows they keep, and whether they number rows. */
public final class PlanNodes {
  private PlanNodes() {}

  /** True when every expression of a node gives the same each time. */
  public static boolean isDeterministic(LogicalPlan n) {
    for (Expression e : Scala.list(n.expressions())) {
      if (!e.deterministic()) return false;
    }
    return true;
  }

  /**
   * True for a node under which files may be skipped by the conditions above it: a filter or a
   * projection that neither adds nor reorders rows, and whose values do not depend on other files.
   */
  public static boolean passesConditions(LogicalPlan n) {
    if (n instanceof Filter filter) return filter.condition().deterministic();
    return n instanceof Project project && (isDeterministic(project) || namesRows(project));
  }

  /** True if a projection adds only what MERGE adds to its target: numbers and files of rows. */
  private static boolean namesRows(Project project) {
    for (NamedExpression e : Scala.list(project.projectList())) {
      if (!((Expression) e).deterministic() && !(e instanceof Alias alias && namesRows(alias))) {
        return false;
      }
    }
    return true;
  }

  private static boolean namesRows(Alias alias) {
    if (alias.child() instanceof InputFileName) return true;
    boolean isNumber = alias.name().equals("__row_id") || alias.name().equals("_row_id_");
    return isNumber && alias.child() instanceof MonotonicallyIncreasingID;
  }

  /** True if a node names the file that its rows come from. Literal rows of a plan have no file. */
  public static boolean namesFiles(LogicalPlan n) {
    for (Expression e : Scala.list(n.expressions())) {
      if (e.exists(part -> part.getClass().getSimpleName().startsWith("InputFile"))) return true;
    }
    return false;
  }
}
