package lakesieve.joins;

import java.util.ArrayList;
import java.util.List;
import lakesieve.predicate.ProjectedColumns;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.trees.TreePattern;

/**
 * Two expressions, one from each side of a join, that are equal in matching rows.
 *
 * @param left in the columns of the left side, or a literal
 * @param right in the columns of the right side, or a literal
 */
record EqualPair(Expression left, Expression right) {
  /**
   * Return the pairs of a join. A literal can belong to either side: if the source of a MERGE is a
   * single row, Spark puts its values into the condition.
   */
  static List<EqualPair> of(Join join) {
    List<EqualPair> pairs = new ArrayList<>();
    if (join.condition().isDefined()) collect(join.condition().get(), join, pairs);
    return pairs;
  }

  private static void collect(Expression e, Join join, List<EqualPair> out) {
    if (e instanceof And and) {
      collect(and.left(), join, out);
      collect(and.right(), join, out);
    } else if (e instanceof EqualTo equality && e.deterministic()) {
      EqualPair pair = new EqualPair(equality.left(), equality.right());
      EqualPair swapped = new EqualPair(pair.right, pair.left);
      if (pair.isOf(join)) out.add(pair);
      else if (swapped.isOf(join)) out.add(swapped);
    }
  }

  private boolean isOf(Join join) {
    if (left instanceof Literal) return isOf(right, join.right());
    return isOf(left, join.left()) && (right instanceof Literal || isOf(right, join.right()));
  }

  private static boolean isOf(Expression e, LogicalPlan side) {
    return !e.references().isEmpty()
        && e.references().subsetOf(side.outputSet())
        && !e.containsPattern(TreePattern.PLAN_EXPRESSION());
  }

  /** The expression of one side. */
  Expression of(boolean ofLeft) {
    return ofLeft ? left : right;
  }

  /**
   * Return the pairs in the columns below a projection of one side, without columns that the
   * projection computes.
   */
  static List<EqualPair> below(Project project, List<EqualPair> pairs, boolean ofLeft) {
    ProjectedColumns columns = new ProjectedColumns(project);
    List<EqualPair> result = new ArrayList<>();
    for (EqualPair pair : pairs) {
      Expression below = columns.below(pair.of(ofLeft));
      if (below == null) continue;
      result.add(ofLeft ? new EqualPair(below, pair.right) : new EqualPair(pair.left, below));
    }
    return result;
  }
}
