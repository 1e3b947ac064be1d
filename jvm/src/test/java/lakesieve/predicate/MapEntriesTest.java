package lakesieve.predicate;

import static lakesieve.predicate.Expressions.cast;
import static lakesieve.predicate.Expressions.column;
import static lakesieve.predicate.Expressions.field;
import static lakesieve.predicate.Expressions.literal;
import static lakesieve.predicate.Expressions.text;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.ArrayContains;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.ElementAt;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetMapValue;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.MapKeys;
import org.apache.spark.sql.catalyst.expressions.MapValues;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.Test;
import scala.Option;

class MapEntriesTest {
  private static final DataType NUMBERS =
      DataTypes.createMapType(DataTypes.IntegerType, DataTypes.IntegerType);
  private static final DataType WIDE =
      DataTypes.createMapType(DataTypes.LongType, DataTypes.IntegerType);
  private static final DataType DOUBLES =
      DataTypes.createMapType(DataTypes.DoubleType, DataTypes.IntegerType);
  private static final AttributeReference MAP = column("m", NUMBERS);
  private static final AttributeReference OTHER = column("o", DataTypes.IntegerType);
  private static final AttributeReference STRUCT =
      column(
          "s",
          DataTypes.createStructType(List.of(DataTypes.createStructField("f", NUMBERS, true))));
  private static final LeafColumns COLUMNS = new LeafColumns(List.of(MAP, OTHER, STRUCT));
  private static final Literal FIVE = literal(5, DataTypes.IntegerType);
  private static final Literal SEVEN = literal(7, DataTypes.IntegerType);
  private static final Map<String, Object> FIFTH = Map.of("type", "integer", "value", "5");

  private static Map<String, Object> json(Expression e) {
    return Conditions.of(e, COLUMNS);
  }

  private static Map<String, Object> map(List<String> path) {
    return Map.of("col", path, "type", "map<int,int>");
  }

  /** The condition that the value of the key 5 is 7. */
  private static Map<String, Object> isSeven(List<String> path, Expression whole) {
    List<Object> tree = List.of("entries", map(path), FIFTH);
    Map<String, Object> expression = Map.of("tree", tree, "text", Conditions.text(whole));
    return Map.of("op", "=", "expr", expression, "type", "integer", "value", "7");
  }

  private static Expression equal(Expression value) {
    return new EqualTo(value, SEVEN);
  }

  private static Expression elementAt(Expression map, Expression key) {
    return new ElementAt(map, key, Option.empty(), true);
  }

  /** Maps in columns and fields, whatever cast keeps the codes of their keys. */
  @Test
  void valuesOfConstantKeys() {
    for (Expression value : List.of(new GetMapValue(MAP, FIVE), elementAt(MAP, FIVE))) {
      assertEquals(isSeven(List.of("m"), equal(value)), json(equal(value)));
    }
    Expression inner = equal(new GetMapValue(field(STRUCT, 0), FIVE));
    assertEquals(isSeven(List.of("s", "f"), inner), json(inner));
    Literal wide = literal(5L, DataTypes.LongType);
    Expression wider = equal(elementAt(cast(MAP, WIDE), wide));
    assertEquals(isSeven(List.of("m"), wider), json(wider));
    Expression present = new IsNotNull(new GetMapValue(MAP, FIVE));
    Map<String, Object> expected = new HashMap<>(isSeven(List.of("m"), present));
    expected.keySet().removeAll(List.of("type", "value"));
    expected.put("op", "isnotnull");
    assertEquals(expected, json(present));
  }

  /** A condition on the keys of a map is one on its entries. */
  @Test
  void keys() {
    Expression contains = new ArrayContains(new MapKeys(MAP), FIVE);
    List<Object> tree = List.of("entries", map(List.of("m")));
    Map<String, Object> arg =
        Map.of("op", "=", "col", List.of("value"), "type", "integer", "value", "5");
    Map<String, Object> expression = Map.of("tree", tree, "text", Conditions.text(contains));
    assertEquals(Map.of("op", "any", "expr", expression, "arg", arg), json(contains));
  }

  /** Values of any key, computed keys and maps, null keys and other leaves are unknown. */
  @Test
  void otherForms() {
    Literal none = literal(null, DataTypes.IntegerType);
    DataType texts = DataTypes.createMapType(DataTypes.StringType, DataTypes.IntegerType);
    for (Expression e :
        List.of(
            new ArrayContains(new MapValues(MAP), FIVE),
            equal(new GetMapValue(MAP, OTHER)),
            equal(new GetMapValue(MAP, none)),
            equal(new GetMapValue(MAP, literal(5L, DataTypes.LongType))),
            equal(new GetMapValue(cast(MAP, DOUBLES), literal(5.0, DataTypes.DoubleType))),
            equal(new GetMapValue(column("m", NUMBERS), FIVE)),
            equal(new GetMapValue(column("t", texts), literal(text("a"), DataTypes.StringType))),
            equal(new ElementAt(MAP, FIVE, Option.apply(SEVEN), true)))) {
      assertEquals(Map.of("op", "unknown", "text", Conditions.text(e)), json(e));
    }
  }
}
