package lakesieve;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InputFileName;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.MonotonicallyIncreasingID;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.trees.TreePattern$;

/** What single nodes of a plan do with rows: which they keep, number and compare. */
public final class PlanNodes {
  private PlanNodes() {}

  /**
   * Find pairs of expressions, one of each side, that are equal in rows that match. A literal is of
   * either side: Spark puts the values of a source of one row into the condition of a MERGE.
   */
  public static void equalities(
      Expression e, LogicalPlan left, LogicalPlan right, List<Expression[]> out) {
    if (e instanceof And) {
      equalities(((And) e).left(), left, right, out);
      equalities(((And) e).right(), left, right, out);
    } else if (e instanceof EqualTo && e.deterministic()) {
      Expression a = ((EqualTo) e).left();
      Expression b = ((EqualTo) e).right();
      if (arePair(a, left, b, right)) out.add(new Expression[] {a, b});
      else if (arePair(b, left, a, right)) out.add(new Expression[] {b, a});
    }
  }

  private static boolean arePair(Expression a, LogicalPlan left, Expression b, LogicalPlan right) {
    if (a instanceof Literal) return isOf(b, right);
    return isOf(a, left) && (b instanceof Literal || isOf(b, right));
  }

  private static boolean isOf(Expression e, LogicalPlan side) {
    return !e.references().isEmpty()
        && e.references().subsetOf(side.outputSet())
        && !e.containsPattern(TreePattern$.MODULE$.PLAN_EXPRESSION());
  }

  /** True when every expression of a node gives the same each time. */
  public static boolean isDeterministic(LogicalPlan n) {
    scala.collection.Iterator it = n.expressions().iterator();
    while (it.hasNext()) {
      if (!((Expression) it.next()).deterministic()) return false;
    }
    return true;
  }

  /**
   * True for a node under which files may be skipped by the conditions above it: a filter or a
   * projection that neither adds nor reorders rows, and whose values do not depend on other files.
   */
  public static boolean passesConditions(LogicalPlan n) {
    if (n instanceof Filter) return ((Filter) n).condition().deterministic();
    return n instanceof Project && (isDeterministic(n) || namesRows((Project) n));
  }

  /** True when a projection adds only what MERGE adds to its target: numbers and files of rows. */
  public static boolean namesRows(Project p) {
    scala.collection.Iterator it = p.projectList().iterator();
    while (it.hasNext()) {
      Expression e = (Expression) it.next();
      if (e.deterministic()) continue;
      if (!(e instanceof Alias)) return false;
      Expression value = (Expression) ((Alias) e).child();
      String name = ((Alias) e).name();
      boolean number = name.equals("__row_id") || name.equals("_row_id_");
      if (value instanceof MonotonicallyIncreasingID ? !number : !(value instanceof InputFileName)) {
        return false;
      }
    }
    return true;
  }

  /** True when a node names the file that its rows come from: literal rows of a plan come from none. */
  public static boolean namesFiles(LogicalPlan n) {
    scala.collection.Iterator it = n.expressions().iterator();
    while (it.hasNext()) {
      if (namesFiles((Expression) it.next())) return true;
    }
    return false;
  }

  private static boolean namesFiles(Expression e) {
    if (e.getClass().getSimpleName().startsWith("InputFile")) return true;
    scala.collection.Iterator it = e.children().iterator();
    while (it.hasNext()) {
      if (namesFiles((Expression) it.next())) return true;
    }
    return false;
  }

  /** Pairs in the columns below a projection; those that it computes in another way are lost. */
  public static List<Expression[]> below(Project p, List<Expression[]> pairs, boolean left) {
    Map<ExprId, Expression> aliases = new HashMap<>();
    scala.collection.Iterator it = p.projectList().iterator();
    while (it.hasNext()) {
      Object e = it.next();
      if (e instanceof Alias) aliases.put(((Alias) e).exprId(), (Expression) ((Alias) e).child());
    }
    if (aliases.isEmpty()) return pairs;
    KeyValues.Substitution others = new KeyValues.Substitution(aliases);
    int side = left ? 0 : 1;
    List<Expression[]> result = new ArrayList<>();
    for (Expression[] each : pairs) {
      Expression[] pair = (Expression[]) each.clone();
      pair[side] = (Expression) pair[side].transform(others);
      if (pair[side].deterministic()) result.add(pair);
    }
    return result;
  }
}
