package lakesieve.predicate;

import java.util.Map;
import lakesieve.spark.TreeReplacement;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;

/** Replaces attributes by other expressions. */
public final class Substitution extends TreeReplacement<Expression> {
  /** Create the substitution from the other expressions by the ids of the attributes. */
  public Substitution(Map<ExprId, Expression> others) {
    super(e -> e instanceof AttributeReference attribute ? others.get(attribute.exprId()) : null);
  }
}
