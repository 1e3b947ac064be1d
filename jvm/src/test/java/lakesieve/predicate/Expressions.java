package lakesieve.predicate;

import java.util.List;
import lakesieve.spark.Scala;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.unsafe.types.UTF8String;

/** Catalyst's expressions, made without a session. */
public final class Expressions {
  private Expressions() {}

  /** A column of a leaf. */
  public static AttributeReference column(String name, DataType type) {
    return new AttributeReference(
        name, type, true, Metadata.empty(), NamedExpression.newExprId(), Scala.seq(List.of()));
  }

  /** A field of a struct. */
  static Expression field(Expression struct, int ordinal) {
    return new GetStructField(struct, ordinal, scala.Option.empty());
  }

  /** A cast to another type. */
  static Expression cast(Expression e, DataType type) {
    return Cast$.MODULE$.apply(e, type, true);
  }

  /** A literal with the internal value of its type. */
  static Literal literal(Object value, DataType type) {
    return new Literal(value, type);
  }

  /** A text as Catalyst has it. */
  static UTF8String text(String value) {
    return UTF8String.fromString(value);
  }
}
