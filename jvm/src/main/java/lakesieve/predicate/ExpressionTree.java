package lakesieve.predicate;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import lakesieve.spark.Scala;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetJsonObject;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.JsonToStructs;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Lower;
import org.apache.spark.sql.catalyst.expressions.Round;
import org.apache.spark.sql.catalyst.expressions.RuntimeReplaceable;
import org.apache.spark.sql.catalyst.expressions.TimeZoneAwareExpression;
import org.apache.spark.sql.catalyst.expressions.Upper;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;
import scala.Product;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.collection.Seq;

/**
 * Writes an expression over the columns of a leaf as a tree for JSON.
 *
 * <p>Expressions with the same tree have the same value in every row. So a tree holds the class and
 * the type of each expression, and all arguments of its constructor. It also holds the settings of
 * the session that change a value. {@code docs/design/0038-keys-that-are-expressions.md} describes
 * the form.
 */
final class ExpressionTree {
  private static final String PACKAGE = "org.apache.spark.sql.catalyst.expressions.";
  private static final String WHOLE_VARIANT = "$";
  // Spark has this class since version 4.0
  private static final String VARIANT_GET = PACKAGE + "variant.VariantGet";
  private static final int MOST_NODES = 200;

  /**
   * The expressions whose value follows from what the tree holds.
   *
   * <p>An expression is missing if its value also depends on a setting that Spark reads while it
   * runs, on a library of Java, or on the row's place.
   */
  private static final Set<String> KNOWN =
      Set.of(
          // texts
          "Lower Upper Substring SubstringIndex StringTrim StringTrimLeft StringTrimRight"
              + " StringReplace StringTranslate StringInstr StringLocate StringLPad StringRPad"
              + " StringRepeat Concat ConcatWs Length BitLength OctetLength Reverse Ascii Hex"
              + " Contains StartsWith EndsWith GetJsonObject Md5 Sha1 Sha2 Crc32",
          // numbers
          "Add Subtract Multiply Divide IntegralDivide Remainder Pmod Abs UnaryMinus Floor Ceil"
              + " Round Greatest Least BitwiseAnd BitwiseOr BitwiseXor BitwiseNot IsNaN",
          // dates and timestamps
          "TruncDate TruncTimestamp Year Quarter Month WeekOfYear DayOfMonth DayOfWeek WeekDay"
              + " DayOfYear LastDay DateAdd DateSub DateDiff AddMonths MakeDate Hour Minute Second"
              + " UnixSeconds UnixMillis UnixMicros UnixDate DateFromUnixDate SecondsToTimestamp"
              + " MillisToTimestamp MicrosToTimestamp",
          // conditions and conversions
          "Coalesce If CaseWhen IsNull IsNotNull EqualTo EqualNullSafe LessThan LessThanOrEqual"
              + " GreaterThan GreaterThanOrEqual And Or Not Cast");

  private static final Set<String> JSON_TYPES =
      Set.of("boolean", "integer", "float", "decimal", "string");

  private static final Set<String> CLASSES =
      Set.copyOf(KNOWN.stream().flatMap(names -> Arrays.stream(names.split(" "))).toList());

  private final LeafColumns columns;
  private int nodes;
  private boolean hasColumn;

  private ExpressionTree(LeafColumns columns) {
    this.columns = columns;
  }

  /** An expression that cannot be a key. */
  static final class RefusedException extends Exception {
    private static final long serialVersionUID = 1;

    RefusedException(String what) {
      super(what, null, false, false);
    }
  }

  /**
   * Return the tree of an expression.
   *
   * @throws RefusedException names the part that has no tree
   */
  static List<Object> of(Expression e, LeafColumns columns) throws RefusedException {
    if (KeyType.of(e.dataType()) == null) throw refusedType(e);
    ExpressionTree tree = new ExpressionTree(columns);
    Object node = tree.node(e);
    if (!tree.hasColumn) throw new RefusedException("an expression without columns");
    return Arrays.asList(SessionValues.spark(), node);
  }

  /** Return the tree of a part of a condition, or null if it has none. */
  static List<Object> ofCondition(Expression e, LeafColumns columns) {
    // literals and columns are compared in conditions that need no tree
    if (e instanceof Literal || columns.field(e) != null) return null;
    try {
      return of(e, columns);
    } catch (RefusedException | RuntimeException | LinkageError failure) {
      // the condition is unknown then, and the scan reads more files
      return null;
    }
  }

  private Object node(Expression e) throws RefusedException {
    if (++nodes > MOST_NODES) throw new RefusedException("an expression of so many parts");
    // the optimizer puts the replacement in the place of such an expression
    if (e instanceof RuntimeReplaceable replaceable) return node(replaceable.replacement());
    if (KeyType.of(e.dataType()) == null && !isDocument(e)) throw refusedType(e);
    List<String> path = columns.field(e);
    if (path != null) {
      hasColumn = true;
      Map<String, Object> column = new LinkedHashMap<>();
      column.put("col", path);
      column.put("type", e.dataType().simpleString());
      return column;
    }
    if (e instanceof Literal literal) return literal(literal);
    if (e instanceof JsonToStructs json) return json(json);
    if (e instanceof GetStructField field) return field(field);
    if (e.getClass().getName().equals(VARIANT_GET)) return variantGet(e);
    if (e instanceof Cast cast && isVariant(cast.child())) return variantCast(cast);
    if (!isKnown(e)) throw new RefusedException(nameOf(e));
    if (e instanceof Cast cast) check(cast);
    // Java's versions print floats differently, and Spark rounds what they print
    if (e instanceof Round && isFloat(e.dataType())) throw new RefusedException("round of floats");
    List<Object> node = new ArrayList<>();
    node.add(e.getClass().getSimpleName());
    node.add(e.dataType().simpleString());
    Iterator<Object> arguments = e.productIterator();
    while (arguments.hasNext()) node.add(argument(arguments.next(), e));
    if (e instanceof Lower || e instanceof Upper) node.add(SessionValues.caseMapping());
    if (e instanceof GetJsonObject) node.add(SessionValues.numberTexts());
    return node;
  }

  private static boolean isKnown(Expression e) {
    String name = e.getClass().getName();
    return name.startsWith(PACKAGE) && CLASSES.contains(name.substring(PACKAGE.length()));
  }

  private static RefusedException refusedType(Expression e) {
    return new RefusedException(nameOf(e) + " of type " + e.dataType().simpleString());
  }

  /** True for a variant, and for a struct that Spark reads from a JSON text. */
  private static boolean isDocument(Expression e) {
    if (e instanceof JsonToStructs || isVariant(e)) return true;
    return e instanceof GetStructField field && isDocument(field.child());
  }

  private static boolean isVariant(Expression e) {
    return e.dataType().simpleString().equals("variant");
  }

  private List<Object> json(JsonToStructs json) throws RefusedException {
    if (!json.options().isEmpty()) throw new RefusedException("an option of from_json");
    checkJson(json.schema());
    return List.of(
        "JsonToStructs",
        Map.of("type", json.schema().json()),
        node(json.child()),
        SessionValues.json(),
        SessionValues.numberTexts());
  }

  /** Refuse a JSON field if the values of its type depend on the clock or on other settings. */
  private static void checkJson(DataType type) throws RefusedException {
    if (type instanceof StructType struct) {
      for (StructField field : struct.fields()) checkJson(field.dataType());
      return;
    }
    KeyType key = KeyType.of(type);
    if (key == null || !JSON_TYPES.contains(key.name())) {
      throw new RefusedException("from_json with the type " + type.simpleString());
    }
  }

  private Object field(GetStructField field) throws RefusedException {
    Metadata pushed = LeafColumns.variantField(field);
    if (pushed != null) return variantField(field, pushed);
    if (!isDocument(field.child())) throw new RefusedException(nameOf(field));
    return List.of("GetStructField", Map.of("ordinal", field.ordinal()), node(field.child()));
  }

  private List<Object> variantGet(Expression e) throws RefusedException {
    Product get = (Product) e;
    return variantGet(
        e.dataType(),
        node((Expression) get.productElement(0)),
        node((Expression) get.productElement(1)),
        (Boolean) get.productElement(3),
        (Option<?>) get.productElement(4));
  }

  /** Spark computes this cast as it does variant_get with the path of the whole variant. */
  private List<Object> variantCast(Cast cast) throws RefusedException {
    boolean fails = !cast.evalMode().toString().equals("TRY");
    return variantGet(
        cast.dataType(), node(cast.child()), path(WHOLE_VARIANT), fails, cast.timeZoneId());
  }

  /** Return the node of a field that Spark lets the scan read from a variant, by its metadata. */
  private Object variantField(GetStructField field, Metadata pushed) throws RefusedException {
    List<String> variant = columns.field(field.child());
    if (variant == null) throw new RefusedException(nameOf(field));
    hasColumn = true;
    Map<String, Object> column = Map.of("col", variant, "type", "variant");
    String path = pushed.getString("path");
    if (isVariant(field) && path.equals(WHOLE_VARIANT)) return column;
    return variantGet(
        field.dataType(),
        column,
        path(path),
        pushed.getBoolean("failOnError"),
        Option.apply(pushed.getString("timeZoneId")));
  }

  private static Object path(String path) throws RefusedException {
    return literal(new Literal(UTF8String.fromString(path), DataTypes.StringType));
  }

  private static List<Object> variantGet(
      DataType type, Object variant, Object path, boolean fails, Option<?> zone)
      throws RefusedException {
    String name = type.simpleString();
    // a text without a date is a time of the current day
    if (name.startsWith("timestamp")) throw new RefusedException("a variant as " + name);
    // the other types have the same values in all time zones
    boolean isZoned = Set.of("string", "date").contains(name);
    return Arrays.asList(
        "VariantGet",
        name,
        variant,
        path,
        // whether it is variant_get or try_variant_get
        Map.of("fails", fails),
        isZoned ? SessionValues.zone(String.valueOf(zone.get())) : null,
        SessionValues.numberTexts());
  }

  private static Map<String, Object> literal(Literal literal) throws RefusedException {
    Object value = literal.value();
    KeyType key = KeyType.of(literal.dataType());
    Object encoded = value == null || key == null ? null : key.encoded(value);
    if (value != null && encoded == null) throw new RefusedException("a literal");
    Map<String, Object> node = new LinkedHashMap<>();
    node.put("value", encoded);
    node.put("type", literal.dataType().simpleString());
    return node;
  }

  /** Refuse casts whose result depends on the clock, the version of Java or further settings. */
  private static void check(Cast cast) throws RefusedException {
    DataType from = cast.child().dataType();
    if (isVariant(cast)) throw new RefusedException("cast to variant");
    String to = KeyType.of(cast.dataType()).name();
    boolean isRefused =
        switch (from.simpleString()) {
          // a time without a date is one of the current day
          case "string" -> to.startsWith("timestamp");
          // Java's versions print floats differently, and Spark makes decimals of what they print
          case "float", "double" -> to.equals("string") || to.equals("decimal");
          case "binary" -> !to.equals("binary");
          default -> false;
        };
    if (isRefused) {
      String names = from.simpleString() + " to " + cast.dataType().simpleString();
      throw new RefusedException("cast from " + names);
    }
  }

  private static boolean isFloat(DataType type) {
    return type.simpleString().equals("float") || type.simpleString().equals("double");
  }

  /** Write one argument of an expression's constructor. */
  private Object argument(Object value, Expression of) throws RefusedException {
    if (value instanceof Expression child) return node(child);
    if (value instanceof DataType type) return Map.of("type", type.simpleString());
    if (value instanceof Option<?> option) return option(option, of);
    if (value instanceof Seq<?> list) return list(Scala.list(list), of);
    if (value instanceof Tuple2<?, ?> pair) return list(List.of(pair._1(), pair._2()), of);
    if (value instanceof Boolean flag) return SessionValues.ansi(flag ? "ANSI" : "LEGACY");
    // only evaluation modes are enumerations here
    if (value instanceof scala.Enumeration.Value mode) return SessionValues.ansi(mode.toString());
    if (isContext(value)) return context((Product) value);
    throw new RefusedException(nameOf(of));
  }

  private Object option(Option<?> option, Expression of) throws RefusedException {
    if (of instanceof TimeZoneAwareExpression zoned && option.equals(zoned.timeZoneId())) {
      boolean needsNone =
          of instanceof Cast cast
              && !Cast$.MODULE$.needsTimeZone(cast.child().dataType(), cast.dataType());
      if (needsNone) return null;
      return SessionValues.zone(String.valueOf(option.get()));
    }
    return list(option.isDefined() ? List.of(option.get()) : List.of(), of);
  }

  private Map<String, Object> list(List<?> values, Expression of) throws RefusedException {
    List<Object> list = new ArrayList<>();
    for (Object value : values) list.add(argument(value, of));
    return Collections.singletonMap("list", list);
  }

  /** True for how Spark 4.1 and later evaluate arithmetic. Earlier versions have only the mode. */
  private static boolean isContext(Object value) {
    return value != null && value.getClass().getName().equals(PACKAGE + "NumericEvalContext");
  }

  private static Map<String, Object> context(Product context) throws RefusedException {
    if (context.productArity() != 2) throw new RefusedException("arithmetic");
    return SessionValues.arithmetic(
        String.valueOf(context.productElement(0)), String.valueOf(context.productElement(1)));
  }

  /** Return the name of an expression's function, as a person writes it. */
  private static String nameOf(Expression e) {
    try {
      return e.prettyName();
    } catch (RuntimeException | LinkageError failure) {
      return e.getClass().getSimpleName();
    }
  }
}
