package lakesieve.predicate;

import java.util.HashMap;
import java.util.Map;
import lakesieve.spark.Scala;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Project;

/** The columns of a projection, with the expressions that compute them. */
public final class ProjectedColumns {
  private final Map<ExprId, Expression> aliases = new HashMap<>();
  private final Substitution others = new Substitution(aliases);

  /** Create the columns of a projection. */
  public ProjectedColumns(Project project) {
    for (NamedExpression column : Scala.list(project.projectList())) {
      if (column instanceof Alias alias) aliases.put(alias.exprId(), alias.child());
    }
  }

  /**
   * Return an expression above the projection in terms of the columns below it, or null if its
   * value may differ there.
   */
  public Expression below(Expression above) {
    if (aliases.isEmpty()) return above;
    Expression below = above.transform(others);
    return below.deterministic() ? below : null;
  }
}
