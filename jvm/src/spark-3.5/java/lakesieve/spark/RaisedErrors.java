package lakesieve.spark;

import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.RaiseError;

/** Tells which expressions raise errors on purpose, as {@code raise_error} does. */
public final class RaisedErrors {
  private RaisedErrors() {}

  /** Return true for an expression that raises errors. Spark 3.5 itself does not say so. */
  public static boolean isRaisedBy(Expression expression) {
    return expression.exists(part -> part instanceof RaiseError);
  }
}
