package lakesieve.spark;

import org.apache.spark.sql.catalyst.expressions.Expression;

/** Tells which expressions raise errors on purpose, as {@code raise_error} does. */
public final class RaisedErrors {
  private RaisedErrors() {}

  /** Return true for an expression that raises errors. */
  public static boolean isRaisedBy(Expression expression) {
    return expression.throwable();
  }
}
