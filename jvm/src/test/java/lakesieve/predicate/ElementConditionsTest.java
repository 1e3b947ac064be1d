package lakesieve.predicate;

import static lakesieve.predicate.Expressions.cast;
import static lakesieve.predicate.Expressions.column;
import static lakesieve.predicate.Expressions.field;
import static lakesieve.predicate.Expressions.literal;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import lakesieve.spark.Scala;
import org.apache.spark.sql.catalyst.expressions.ArrayContains;
import org.apache.spark.sql.catalyst.expressions.ArrayExists;
import org.apache.spark.sql.catalyst.expressions.ArraysOverlap;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.LambdaFunction;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedLambdaVariable;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.Test;

class ElementConditionsTest {
  private static final DataType INTS = DataTypes.createArrayType(DataTypes.IntegerType);
  private static final DataType LONGS = DataTypes.createArrayType(DataTypes.LongType);
  private static final DataType DOUBLES = DataTypes.createArrayType(DataTypes.DoubleType);
  private static final AttributeReference LIST = column("l", INTS);
  private static final AttributeReference OTHER = column("o", DataTypes.IntegerType);
  private static final AttributeReference STRUCT =
      column(
          "s", DataTypes.createStructType(List.of(DataTypes.createStructField("f", INTS, true))));
  private static final LeafColumns COLUMNS = new LeafColumns(List.of(LIST, OTHER, STRUCT));
  private static final Literal FIVE = literal(5, DataTypes.IntegerType);

  private static Map<String, Object> json(Expression e) {
    return Conditions.of(e, COLUMNS);
  }

  /** The condition that an element of a list of integers meets a condition. */
  private static Map<String, Object> any(Expression e, List<String> path, Map<String, Object> arg) {
    List<Object> tree = List.of("elements", Map.of("col", path, "type", "array<int>"));
    Map<String, Object> expression = Map.of("tree", tree, "text", Conditions.text(e));
    return Map.of("op", "any", "expr", expression, "arg", arg);
  }

  private static Map<String, Object> equal(String value) {
    return Map.of("op", "=", "col", List.of("value"), "type", "integer", "value", value);
  }

  private static Map<String, Object> unknown(Expression e) {
    return Map.of("op", "unknown", "text", Conditions.text(e));
  }

  private static Literal list(DataType type, Object... values) {
    return literal(new GenericArrayData(values), type);
  }

  /** Lists of columns and of fields contain a value, whatever cast keeps their codes. */
  @Test
  void contains() {
    Expression plain = new ArrayContains(LIST, FIVE);
    assertEquals(any(plain, List.of("l"), equal("5")), json(plain));
    Expression inner = new ArrayContains(field(STRUCT, 0), FIVE);
    assertEquals(any(inner, List.of("s", "f"), equal("5")), json(inner));
    Literal six = literal(6L, DataTypes.LongType);
    Expression wider = new ArrayContains(cast(LIST, LONGS), six);
    assertEquals(any(wider, List.of("l"), equal("6")), json(wider));
    Map<String, Object> never = new HashMap<>(Map.of("op", "const"));
    never.put("value", null);
    Expression none = new ArrayContains(LIST, literal(null, DataTypes.IntegerType));
    assertEquals(any(none, List.of("l"), never), json(none));
  }

  /** Either list of an overlap may be the literal. */
  @Test
  void overlaps() {
    Literal values = list(INTS, 5, null, 7);
    Map<String, Object> in =
        Map.of(
            "op",
            "in",
            "col",
            List.of("value"),
            "type",
            "integer",
            "values",
            List.of("5", "7"),
            "null",
            true);
    for (Expression e : List.of(new ArraysOverlap(LIST, values), new ArraysOverlap(values, LIST))) {
      assertEquals(any(e, List.of("l"), in), json(e));
    }
  }

  /** The body of a lambda function is a condition on its variable alone. */
  @Test
  void exists() {
    NamedLambdaVariable x = variable();
    Expression equal = exists(x, new EqualTo(x, FIVE));
    assertEquals(any(equal, List.of("l"), equal("5")), json(equal));
    for (Expression other : Arrays.asList(OTHER, variable())) {
      Expression body = new EqualTo(other, FIVE);
      Expression foreign = exists(x, body);
      assertEquals(any(foreign, List.of("l"), unknown(body)), json(foreign));
    }
  }

  /** Lists of other leaves, computed lists and values that are no literals are unknown. */
  @Test
  void otherForms() {
    for (Expression e :
        List.of(
            new ArrayContains(column("l", INTS), FIVE),
            new ArrayContains(LIST, OTHER),
            new ArrayContains(cast(LIST, DOUBLES), literal(5.0, DataTypes.DoubleType)),
            new ArrayContains(LIST, literal(5L, DataTypes.LongType)),
            new ArraysOverlap(LIST, field(STRUCT, 0)),
            new ArraysOverlap(LIST, list(LONGS, 5L)))) {
      assertEquals(unknown(e), json(e));
    }
  }

  private static NamedLambdaVariable variable() {
    return new NamedLambdaVariable(
        "x", DataTypes.IntegerType, true, NamedExpression.newExprId(), null);
  }

  private static Expression exists(NamedLambdaVariable x, Expression body) {
    return new ArrayExists(LIST, new LambdaFunction(body, Scala.seq(List.of(x)), false), true);
  }
}
