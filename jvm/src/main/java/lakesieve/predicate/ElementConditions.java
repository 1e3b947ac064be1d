package lakesieve.predicate;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import lakesieve.spark.Scala;
import org.apache.spark.sql.catalyst.expressions.ArrayContains;
import org.apache.spark.sql.catalyst.expressions.ArrayExists;
import org.apache.spark.sql.catalyst.expressions.ArraysOverlap;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.LambdaFunction;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.MapKeys;
import org.apache.spark.sql.catalyst.expressions.NamedLambdaVariable;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;

/**
 * Translates conditions that are true if some element of a list, or some key of a map, meets a
 * condition.
 *
 * <p>The protocol's condition "any" has the condition on one element or key, whose column is {@link
 * #VALUE}. It says when the whole condition is true. It does not say when it is false or null.
 */
final class ElementConditions {
  /** The name of an element or a key in a condition on it. */
  static final String VALUE = "value";

  private static final Map<String, Object> ELEMENT = Map.of("col", List.of(VALUE));

  private ElementConditions() {}

  /** True for the functions that this class translates. */
  static boolean isOne(Expression e) {
    return e instanceof ArrayContains || e instanceof ArraysOverlap || e instanceof ArrayExists;
  }

  /** Return a condition on the elements of a list, or null if the protocol has none. */
  static Map<String, Object> of(Expression e, LeafColumns columns) {
    if (e instanceof ArrayContains contains) {
      Map<String, Object> equal = equal(contains.left(), contains.right());
      return any(contains.left(), equal, Conditions.text(e), columns);
    }
    if (e instanceof ArraysOverlap overlap) {
      boolean isLiteral = overlap.right() instanceof Literal;
      Expression list = isLiteral ? overlap.left() : overlap.right();
      Map<String, Object> in = isIn(list, isLiteral ? overlap.right() : overlap.left());
      return any(list, in, Conditions.text(e), columns);
    }
    ArrayExists exists = (ArrayExists) e;
    return any(exists.argument(), bodyOf(exists.function()), Conditions.text(e), columns);
  }

  /** Return the condition that some element meets a condition, or null if the protocol has none. */
  static Map<String, Object> any(
      Expression list, Map<String, Object> element, String text, LeafColumns columns) {
    List<Object> tree =
        list instanceof MapKeys keys
            ? MapEntries.tree(keys.child(), columns)
            : columns.tree("elements", list);
    return Conditions.some("any", tree, text, element);
  }

  private static Map<String, Object> equal(Expression list, Expression value) {
    DataType type = elementType(list);
    if (!(value instanceof Literal literal) || !LeafColumns.isSame(type, literal.dataType())) {
      return null;
    }
    return Conditions.compared("=", ELEMENT, type, literal.value());
  }

  private static Map<String, Object> isIn(Expression list, Expression values) {
    DataType type = elementType(list);
    if (!(values instanceof Literal literal) || !LeafColumns.isSame(type, elementType(values))) {
      return null;
    }
    if (!(literal.value() instanceof ArrayData data)) return null;
    return Conditions.isIn(ELEMENT, type, Arrays.asList(data.toObjectArray(type)));
  }

  private static Map<String, Object> bodyOf(Expression function) {
    if (!(function instanceof LambdaFunction lambda)) return null;
    List<?> arguments = Scala.list(lambda.arguments());
    if (arguments.size() != 1) return null;
    if (!(arguments.get(0) instanceof NamedLambdaVariable variable)) return null;
    return Conditions.of(lambda.function(), LeafColumns.ofParts(Map.of(variable.exprId(), VALUE)));
  }

  private static DataType elementType(Expression list) {
    return list.dataType() instanceof ArrayType type ? type.elementType() : null;
  }
}
