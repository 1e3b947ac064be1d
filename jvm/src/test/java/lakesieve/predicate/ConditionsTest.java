package lakesieve.predicate;

import static lakesieve.predicate.Expressions.cast;
import static lakesieve.predicate.Expressions.column;
import static lakesieve.predicate.Expressions.field;
import static lakesieve.predicate.Expressions.literal;
import static lakesieve.predicate.Expressions.text;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import lakesieve.spark.Scala;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GreaterThan;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.Length;
import org.apache.spark.sql.catalyst.expressions.LessThan;
import org.apache.spark.sql.catalyst.expressions.LessThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Lower;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.expressions.Rand;
import org.apache.spark.sql.catalyst.expressions.StartsWith;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;

class ConditionsTest {
  private static final AttributeReference A = column("a", DataTypes.IntegerType);
  private static final AttributeReference TEXT = column("t", DataTypes.StringType);
  private static final AttributeReference FLAG = column("f", DataTypes.BooleanType);
  private static final LeafColumns COLUMNS = new LeafColumns(List.of(A, TEXT, FLAG));
  private static final Literal FIVE = literal(5, DataTypes.IntegerType);

  /** A map of names and values, some of which may be null. */
  private static Map<String, Object> object(Object... pairs) {
    Map<String, Object> object = new HashMap<>();
    for (int i = 0; i < pairs.length; i += 2) object.put((String) pairs[i], pairs[i + 1]);
    return object;
  }

  private static Map<String, Object> compared(String op) {
    return object("op", op, "col", List.of("a"), "type", "integer", "value", "5");
  }

  private static Map<String, Object> unknown(Expression e) {
    return object("op", "unknown", "text", Conditions.text(e));
  }

  /** The condition that an expression over columns has one value. */
  private static Map<String, Object> of(
      Expression e, Expression whole, LeafColumns columns, String type, Object value) {
    List<Object> tree = ExpressionTree.ofCondition(e, columns);
    Map<String, Object> expression = object("tree", tree, "text", Conditions.text(whole));
    return object("op", "=", "expr", expression, "type", type, "value", value);
  }

  /** The condition that a boolean expression is true. */
  private static Map<String, Object> isTrue(Expression e, AttributeReference... columns) {
    return of(e, e, new LeafColumns(List.of(columns)), "boolean", true);
  }

  private static Map<String, Object> json(Expression e) {
    return Conditions.of(e, COLUMNS);
  }

  private static Map<String, Object> json(Expression e, AttributeReference column) {
    return Conditions.of(e, new LeafColumns(List.of(column)));
  }

  /** Each comparison has its operator, and the mirrored one where the literal stands first. */
  @Test
  void comparisons() {
    assertEquals(compared("="), json(new EqualTo(A, FIVE)));
    assertEquals(compared("="), json(new EqualTo(FIVE, A)));
    assertEquals(compared("<=>"), json(new EqualNullSafe(A, FIVE)));
    assertEquals(compared("<=>"), json(new EqualNullSafe(FIVE, A)));
    assertEquals(compared("<"), json(new LessThan(A, FIVE)));
    assertEquals(compared(">"), json(new LessThan(FIVE, A)));
    assertEquals(compared("<="), json(new LessThanOrEqual(A, FIVE)));
    assertEquals(compared(">="), json(new LessThanOrEqual(FIVE, A)));
    assertEquals(compared(">"), json(new GreaterThan(A, FIVE)));
    assertEquals(compared("<"), json(new GreaterThan(FIVE, A)));
    assertEquals(compared(">="), json(new GreaterThanOrEqual(A, FIVE)));
    assertEquals(compared("<="), json(new GreaterThanOrEqual(FIVE, A)));
  }

  /** Nothing is compared with null but by the null-safe equality. */
  @Test
  void comparisonsWithNull() {
    Literal none = literal(null, DataTypes.IntegerType);
    Map<String, Object> never = object("op", "const", "value", null);
    assertEquals(never, json(new EqualTo(A, none)));
    assertEquals(never, json(new LessThan(none, A)));
    assertEquals(object("op", "isnull", "col", List.of("a")), json(new EqualNullSafe(A, none)));
  }

  /** Columns of other leaves and comparisons without columns match every row. */
  @Test
  void conditionsOfOtherForms() {
    AttributeReference foreign = column("a", DataTypes.IntegerType);
    List<Expression> conditions =
        List.of(
            new EqualTo(foreign, FIVE),
            new EqualTo(foreign, literal(null, DataTypes.IntegerType)),
            new EqualTo(FIVE, FIVE),
            new IsNull(foreign),
            new In(foreign, Scala.seq(List.of(FIVE))),
            literal(5, DataTypes.IntegerType),
            column("f", DataTypes.BooleanType));
    for (Expression e : conditions) assertEquals(unknown(e), json(e));
  }

  /** A comparison of two columns is a boolean expression, and so is one of a function. */
  @Test
  void expressions() {
    Expression columns = new GreaterThan(A, A);
    assertEquals(isTrue(columns, A), json(columns));
    Expression length = new Length(TEXT);
    Expression equal = new EqualTo(FIVE, length);
    assertEquals(of(length, equal, COLUMNS, "integer", "5"), json(equal));
    Expression wide =
        new EqualTo(cast(length, DataTypes.LongType), literal(5L, DataTypes.LongType));
    assertEquals(of(length, wide, COLUMNS, "integer", "5"), json(wide));
    Map<String, Object> none = json(new IsNull(length));
    assertEquals("isnull", none.get("op"));
    assertEquals(ExpressionTree.ofCondition(length, COLUMNS), tree(none));
    assertEquals(tree(none), tree(json(new In(length, Scala.seq(List.of(FIVE))))));
    Expression prefix = new StartsWith(new Lower(TEXT), literal(text("a"), DataTypes.StringType));
    // the words of the text may answer it, too
    Object otherwise = json(prefix).get("otherwise");
    assertEquals(ExpressionTree.ofCondition(new Lower(TEXT), COLUMNS), tree((Map<?, ?>) otherwise));
  }

  private static Object tree(Map<?, ?> condition) {
    return ((Map<?, ?>) condition.get("expr")).get("tree");
  }

  /** What the protocol has no condition for is told as a person reads it, if it can be printed. */
  @Test
  void textOfOtherForms() {
    assertEquals("a > a", Conditions.text(new GreaterThan(A, A)));
    Expression odd = new InSet(A, set(5, 1.5));
    assertEquals("InSet", Conditions.text(odd));
  }

  /** A literal of each type is written as its type says, and so is its type. */
  @Test
  void literalsOfEachType() {
    Map<DataType, Object> values = new HashMap<>();
    values.put(DataTypes.ByteType, (byte) 1);
    values.put(DataTypes.ShortType, (short) 1);
    values.put(DataTypes.LongType, Long.MIN_VALUE);
    values.put(DataTypes.FloatType, Float.NaN);
    values.put(DataTypes.DoubleType, -0.0);
    values.put(DataTypes.DateType, -719162);
    values.put(DataTypes.TimestampType, -62135596800000000L);
    values.put(DataTypes.TimestampNTZType, 1L);
    values.put(DataTypes.BooleanType, false);
    values.put(DataTypes.BinaryType, new byte[] {0, -1});
    values.put(DataTypes.StringType, text("日本"));
    values.put(DataTypes.createDecimalType(20, 3), Decimal.apply(1500L, 20, 3));
    values.forEach(
        (type, value) -> {
          AttributeReference column = column("c", type);
          Map<String, Object> expected = object("op", "=", "col", List.of("c"));
          KeyType.of(type).describe(expected);
          expected.put("value", KeyType.of(type).encoded(value));
          assertEquals(expected, json(new EqualTo(column, literal(value, type)), column));
        });
  }

  /** A column of a type that no index has keys of is known to be null or not, no more. */
  @Test
  void typesWithoutKeys() {
    DataType type = DataTypes.createDayTimeIntervalType();
    AttributeReference column = column("c", type);
    Expression equal = new EqualTo(column, literal(5L, type));
    assertEquals(unknown(equal), json(equal, column));
    Expression in = new In(column, Scala.seq(List.of(literal(5L, type))));
    assertEquals(unknown(in), json(in, column));
    assertEquals(object("op", "isnull", "col", List.of("c")), json(new IsNull(column), column));
  }

  /** A column behind a cast that widens is compared as what it is widened to. */
  @Test
  void casts() {
    Expression wide = cast(A, DataTypes.LongType);
    Map<String, Object> expected = compared("=");
    expected.put("value", "5000000000");
    assertEquals(expected, json(new EqualTo(wide, literal(5_000_000_000L, DataTypes.LongType))));
    Expression real = cast(A, DataTypes.DoubleType);
    Expression e = new EqualTo(real, literal(5.0, DataTypes.DoubleType));
    Object five = KeyType.of(DataTypes.DoubleType).encoded(5.0);
    assertEquals(of(real, e, COLUMNS, "float", five), json(e));
  }

  /** A field is named by the way to it. */
  @Test
  void fields() {
    StructField number = DataTypes.createStructField("x", DataTypes.IntegerType, true);
    AttributeReference struct = column("s", new StructType(new StructField[] {number}));
    Map<String, Object> expected = compared("=");
    expected.put("col", List.of("s", "x"));
    assertEquals(expected, json(new EqualTo(field(struct, 0), FIVE), struct));
    Map<String, Object> present = object("op", "isnotnull", "col", List.of("s"));
    assertEquals(present, json(new IsNotNull(struct), struct));
  }

  /** Null among the values of IN is told apart from them. */
  @Test
  void lists() {
    Literal none = literal(null, DataTypes.IntegerType);
    Map<String, Object> expected = object("op", "in", "col", List.of("a"), "type", "integer");
    expected.put("values", List.of("5", "6"));
    expected.put("null", false);
    Literal six = literal(6, DataTypes.IntegerType);
    assertEquals(expected, json(new In(A, Scala.seq(List.of(FIVE, six)))));
    expected.put("null", true);
    assertEquals(expected, json(new In(A, Scala.seq(List.of(FIVE, none, six)))));
    assertEquals(expected, json(new InSet(A, set(5, null, 6))));
    expected.put("values", List.of());
    assertEquals(expected, json(new In(A, Scala.seq(List.of(none)))));
    Expression other = new In(A, Scala.seq(List.of(FIVE, literal(6L, DataTypes.LongType))));
    assertEquals(unknown(other), json(other));
    Expression computed = new In(A, Scala.seq(List.of(FIVE, A)));
    assertEquals(unknown(computed), json(computed));
    Expression odd = new InSet(A, set(5, 1.5));
    assertEquals(unknown(odd), json(odd));
  }

  private static scala.collection.immutable.Set<Object> set(Object... values) {
    return Scala.<Object>seq(Arrays.asList(values)).toSet();
  }

  /** A prefix is one of a text column, and a literal. */
  @Test
  void prefixes() {
    Literal prefix = literal(text("ab"), DataTypes.StringType);
    Map<String, Object> expected = object("op", "startswith", "col", List.of("t"));
    expected.put("value", "YWI=");
    assertEquals(expected, json(new StartsWith(TEXT, prefix)));
    Expression mirrored = new StartsWith(prefix, TEXT);
    assertEquals(isTrue(mirrored, TEXT), json(mirrored));
    Expression none = new StartsWith(TEXT, literal(null, DataTypes.StringType));
    assertEquals(isTrue(none, TEXT), json(none));
    AttributeReference bytes = column("y", DataTypes.BinaryType);
    Expression binary = new StartsWith(bytes, literal(new byte[] {1}, DataTypes.BinaryType));
    assertEquals(isTrue(binary, bytes), json(binary, bytes));
  }

  /** A boolean column that stands alone is compared with true; a constant is itself. */
  @Test
  void booleans() {
    Map<String, Object> isTrue = object("op", "=", "col", List.of("f"), "type", "boolean");
    isTrue.put("value", true);
    assertEquals(isTrue, json(FLAG));
    assertEquals(object("op", "not", "arg", isTrue), json(new Not(FLAG)));
    for (Boolean value : new Boolean[] {true, false, null}) {
      Map<String, Object> constant = object("op", "const", "value", value);
      assertEquals(constant, json(literal(value, DataTypes.BooleanType)));
    }
  }

  /** A part that is not understood leaves the others as they are. */
  @Test
  void unknownParts() {
    Expression contains = new EqualTo(A, new Rand(literal(1L, DataTypes.LongType)));
    Map<String, Object> expected = object("op", "and");
    expected.put("args", List.of(compared("="), object("op", "not", "arg", unknown(contains))));
    assertEquals(expected, json(new And(new EqualTo(A, FIVE), new Not(contains))));
  }

  /** Chains are flat and in order, however long, to the left or to the right. */
  @Test
  void longChains() {
    int length = 10_000;
    List<Object> args = new ArrayList<>();
    Expression left = new EqualTo(A, literal(0, DataTypes.IntegerType));
    Expression right = new EqualTo(A, literal(length - 1, DataTypes.IntegerType));
    for (int i = 0; i < length; i++) {
      Map<String, Object> arg = compared("=");
      arg.put("value", Integer.toString(i));
      args.add(arg);
      if (i > 0) left = new Or(left, new EqualTo(A, literal(i, DataTypes.IntegerType)));
      int other = length - 1 - i;
      if (i > 0) right = new Or(new EqualTo(A, literal(other, DataTypes.IntegerType)), right);
    }
    Map<String, Object> expected = object("op", "or", "args", args);
    assertEquals(expected, json(left));
    assertEquals(expected, json(right));
  }

  /** Drawn trees of AND, OR and NOT keep their meaning: flat chains, the same leaves in order. */
  @Test
  void drawnTrees() {
    Random drawn = new Random(53);
    for (int i = 0; i < 300; i++) {
      Expression e = tree(drawn, 5);
      assertEquals(slowly(e), json(e));
    }
  }

  private static Expression tree(Random drawn, int depth) {
    int kind = depth == 0 ? 0 : drawn.nextInt(4);
    return switch (kind) {
      case 1 -> new And(tree(drawn, depth - 1), tree(drawn, depth - 1));
      case 2 -> new Or(tree(drawn, depth - 1), tree(drawn, depth - 1));
      case 3 -> new Not(tree(drawn, depth - 1));
      default -> new EqualTo(A, literal(drawn.nextInt(9), DataTypes.IntegerType));
    };
  }

  /** The slow, obvious twin for trees of AND, OR, NOT and equality. */
  private static Map<String, Object> slowly(Expression e) {
    if (e instanceof Not not) return object("op", "not", "arg", slowly(not.child()));
    if (e instanceof EqualTo equal) {
      Map<String, Object> condition = compared("=");
      condition.put("value", equal.right().toString());
      return condition;
    }
    String op = e instanceof And ? "and" : "or";
    List<Object> args = new ArrayList<>();
    for (Expression child : Scala.list(e.children())) {
      Map<String, Object> arg = slowly(child);
      if (op.equals(arg.get("op"))) args.addAll((List<?>) arg.get("args"));
      else args.add(arg);
    }
    return object("op", op, "args", args);
  }
}
