package lakesieve.rule;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import lakesieve.spark.Scala;
import lakesieve.spark.TreeReplacement;
import org.apache.spark.sql.Row$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation$;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;

/** The only row of an aggregate without groups. */
final class OnlyRow {
  private OnlyRow() {}

  /** Return all aggregate functions in the columns of an aggregate, in their order. */
  static List<AggregateExpression> functions(Aggregate aggregate) {
    List<AggregateExpression> all = new ArrayList<>();
    for (NamedExpression e : Scala.list(aggregate.aggregateExpressions())) {
      addFunctions((Expression) e, all);
    }
    return all;
  }

  private static void addFunctions(Expression e, List<AggregateExpression> all) {
    if (e instanceof AggregateExpression function) all.add(function);
    else Scala.list(e.children()).forEach(child -> addFunctions(child, all));
  }

  /**
   * Return the row as a plan without a scan, or null if its columns do not follow from the results.
   *
   * @param results a literal for each aggregate function, by identity
   */
  static LogicalPlan of(Aggregate aggregate, Map<Expression, Expression> results) {
    List<NamedExpression> columns = new ArrayList<>();
    for (NamedExpression e : Scala.list(aggregate.aggregateExpressions())) {
      // a kept plan would repeat the same random number
      if (!((Expression) e).deterministic()) return null;
      Object column = ((Expression) e).transformDown(new TreeReplacement<>(results::get));
      columns.add((NamedExpression) column);
    }
    LogicalPlan oneRow =
        LocalRelation$.MODULE$.fromExternalRows(
            Scala.seq(List.of()), Scala.seq(List.of(Row$.MODULE$.empty())));
    return ConvertToLocalRelation$.MODULE$.apply(new Project(Scala.seq(columns), oneRow));
  }
}
