package lakesieve.rule;

import java.lang.reflect.Constructor;
import java.util.Arrays;
import java.util.List;
import lakesieve.spark.Scala;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;

/** Parts of plans that tests put together. */
final class PlanParts {
  private PlanParts() {}

  static Expression number(int value) {
    return new Literal(value, DataTypes.IntegerType);
  }

  static AttributeReference column(String name, DataType type) {
    return new AttributeReference(
        name,
        type,
        true,
        Metadata.empty(),
        NamedExpression$.MODULE$.newExprId(),
        Scala.seq(List.of()));
  }

  /** Make a node. In newer versions of Spark, its constructor has one more option. */
  static LogicalPlan made(Class<? extends LogicalPlan> type, Object... arguments) {
    Constructor<?> constructor = type.getConstructors()[0];
    Object[] all = Arrays.copyOf(arguments, constructor.getParameterCount());
    Arrays.fill(all, arguments.length, all.length, scala.Option.empty());
    try {
      return (LogicalPlan) constructor.newInstance(all);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }
}
