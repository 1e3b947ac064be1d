package lakesieve.predicate;

import static lakesieve.predicate.Expressions.cast;
import static lakesieve.predicate.Expressions.column;
import static lakesieve.predicate.Expressions.field;
import static lakesieve.predicate.Expressions.literal;
import static lakesieve.predicate.Expressions.text;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import java.util.Map;
import lakesieve.predicate.ExpressionTree.RefusedException;
import org.apache.spark.sql.catalyst.expressions.Abs;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Hour;
import org.apache.spark.sql.catalyst.expressions.Length;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Lower;
import org.apache.spark.sql.catalyst.expressions.Rand;
import org.apache.spark.sql.catalyst.expressions.StringInstr;
import org.apache.spark.sql.catalyst.expressions.Upper;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;
import scala.Option;

class ExpressionTreeTest {
  private static final AttributeReference TEXT = column("t", DataTypes.StringType);
  private static final AttributeReference OTHER = column("o", DataTypes.StringType);
  private static final AttributeReference REAL = column("r", DataTypes.DoubleType);
  private static final AttributeReference WHEN = column("w", DataTypes.TimestampType);
  private static final LeafColumns COLUMNS = new LeafColumns(List.of(TEXT, OTHER, REAL, WHEN));

  private static Object node(Expression e) throws RefusedException {
    return ExpressionTree.of(e, COLUMNS).get(1);
  }

  private static void refused(Expression e) {
    assertThrows(RefusedException.class, () -> ExpressionTree.of(e, COLUMNS));
  }

  /** A tree has the class, the type and the arguments of each expression. */
  @Test
  void nodes() throws RefusedException {
    Object column = Map.of("col", List.of("t"), "type", "string");
    assertEquals(List.of("Length", "int", column), node(new Length(TEXT)));
    Literal literal = literal(text("a"), DataTypes.StringType);
    Object value = Map.of("value", "YQ==", "type", "string");
    assertEquals(
        List.of("StringInstr", "int", column, value), node(new StringInstr(TEXT, literal)));
  }

  /** Other columns, literals and orders of operands make other trees. */
  @Test
  void differences() throws RefusedException {
    Literal literal = literal(text("a"), DataTypes.StringType);
    Object tree = node(new StringInstr(TEXT, literal));
    assertNotEquals(tree, node(new StringInstr(OTHER, literal)));
    assertNotEquals(tree, node(new StringInstr(literal, TEXT)));
    Literal upper = literal(text("A"), DataTypes.StringType);
    assertNotEquals(tree, node(new StringInstr(TEXT, upper)));
    assertNotEquals(node(new Lower(TEXT)), node(new Upper(TEXT)));
  }

  /** A field of a struct is a column with a path, whatever its position in the struct. */
  @Test
  void fields() throws RefusedException {
    StructField other = DataTypes.createStructField("x", DataTypes.IntegerType, true);
    StructField wanted = DataTypes.createStructField("y", DataTypes.StringType, true);
    AttributeReference whole = column("s", new StructType(new StructField[] {other, wanted}));
    AttributeReference pruned = column("s", new StructType(new StructField[] {wanted}));
    Object expected = Map.of("col", List.of("s", "y"), "type", "string");
    LeafColumns columns = new LeafColumns(List.of(whole, pruned));
    for (Expression e : List.of(field(whole, 1), field(pruned, 0))) {
      Object tree = ExpressionTree.of(new Length(e), columns).get(1);
      assertEquals(List.of("Length", "int", expected), tree);
    }
  }

  /** A time zone, a mode and the mapping of letters are values of the session. */
  @Test
  void sessions() throws RefusedException {
    Map<String, Object> column = Map.of("col", List.of("w"), "type", "timestamp");
    Object zone = Map.of("session", Map.of("time zone", "UTC"));
    assertEquals(List.of("Hour", "int", column, zone), node(hour("UTC")));
    assertNotEquals(node(hour("UTC")), node(hour("Z")));
    Map<?, ?> ruled = (Map<?, ?>) ((List<?>) node(hour("Europe/Berlin"))).get(3);
    assertEquals(2, ((Map<?, ?>) ruled.get("session")).size());
    Object ansi = ((List<?>) node(new Abs(REAL, true))).get(3);
    assertEquals(Map.of("session", Map.of("mode", "ANSI")), ansi);
    assertNotEquals(node(new Abs(REAL, true)), node(new Abs(REAL, false)));
    assertEquals(4, ((List<?>) node(new Lower(TEXT))).size());
  }

  private static Expression hour(String zone) {
    return new Hour(WHEN, Option.apply(zone));
  }

  /** Expressions that depend on anything else, or on no column, have no tree. */
  @Test
  void refusals() {
    refused(new Rand(literal(1L, DataTypes.LongType)));
    refused(new Length(column("t", DataTypes.StringType)));
    refused(new Length(literal(text("a"), DataTypes.StringType)));
    refused(cast(REAL, DataTypes.StringType));
    refused(cast(REAL, DataTypes.createDecimalType(9, 2)));
    refused(cast(TEXT, DataTypes.TimestampType));
    refused(cast(TEXT, DataTypes.TimestampNTZType));
    refused(cast(column("t", DataTypes.BinaryType), DataTypes.StringType));
    DataType interval = DataTypes.createDayTimeIntervalType();
    refused(new Abs(column("i", interval), false));
    Expression deep = TEXT;
    for (int i = 0; i < 300; i++) deep = new Lower(deep);
    refused(deep);
  }
}
