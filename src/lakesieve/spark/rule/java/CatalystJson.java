package lakesieve;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BinaryComparison;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.GreaterThan;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.KnownFloatingPointNormalized;
import org.apache.spark.sql.catalyst.expressions.LessThan;
import org.apache.spark.sql.catalyst.expressions.LessThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.expressions.StartsWith;
import org.apache.spark.sql.catalyst.optimizer.NormalizeNaNAndZero;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Conditions of the optimized plan as plain maps, with the internal values of Catalyst's literals.
 *
 * <p>Internal values (days, microseconds, unscaled decimals, UTF-8 bytes) pass no calendar and no
 * time zone on their way, which java.sql values do. Columns are bound by expression id: a reference
 * counts only if it is one of the leaf's attributes, under its name there. Whatever is not
 * listed here becomes "unknown", which matches every row.
 */
public final class CatalystJson {
  private CatalystJson() {}

  /** Expression id to column name, for the attributes a leaf puts out. */
  public static Map<ExprId, String> attributes(scala.collection.Iterator output) {
    Map<ExprId, String> byId = new HashMap<>();
    while (output.hasNext()) {
      AttributeReference a = (AttributeReference) output.next();
      byId.put(a.exprId(), a.name());
    }
    return byId;
  }

  /** Convert a condition; what has no counterpart becomes "unknown". */
  public static Map<String, Object> convert(Expression e, Map<ExprId, String> attributes) {
    if (e instanceof And) {
      return tree("and", ((And) e).left(), ((And) e).right(), attributes);
    }
    if (e instanceof Or) {
      return tree("or", ((Or) e).left(), ((Or) e).right(), attributes);
    }
    if (e instanceof Not) {
      Map<String, Object> m = node("not");
      m.put("arg", convert((Expression) ((Not) e).child(), attributes));
      return m;
    }
    Map<String, Object> m = null;
    if (e instanceof BinaryComparison) m = comparison((BinaryComparison) e, attributes);
    else if (e instanceof In) m = in((In) e, attributes);
    else if (e instanceof InSet) m = inSet((InSet) e, attributes);
    else if (e instanceof IsNull) m = unary("isnull", (Expression) ((IsNull) e).child(), attributes);
    else if (e instanceof IsNotNull) {
      m = unary("isnotnull", (Expression) ((IsNotNull) e).child(), attributes);
    } else if (e instanceof StartsWith) m = startsWith((StartsWith) e, attributes);
    else if (e instanceof Literal && "boolean".equals(e.dataType().simpleString())) {
      m = node("const");
      m.put("value", ((Literal) e).value());
    } else if (e.dataType() != null && "boolean".equals(e.dataType().simpleString())) {
      // a boolean column standing alone is "column = true"
      m = comparisonMap("=", e, "boolean", true, attributes);
    }
    return m == null ? unknown(e.getClass().getSimpleName()) : m;
  }

  private static Map<String, Object> tree(
      String op, Expression left, Expression right, Map<ExprId, String> attributes) {
    List<Object> args = new ArrayList<>();
    flatten(op, left, attributes, args);
    flatten(op, right, attributes, args);
    Map<String, Object> m = node(op);
    m.put("args", args);
    return m;
  }

  // AND and OR chains are flattened so that depth follows nesting, not length
  private static void flatten(String op, Expression e, Map attributes, List<Object> out) {
    boolean same = "and".equals(op) ? e instanceof And : e instanceof Or;
    if (!same) {
      out.add(convert(e, attributes));
      return;
    }
    flatten(op, (Expression) e.children().apply(0), attributes, out);
    flatten(op, (Expression) e.children().apply(1), attributes, out);
  }

  private static Map<String, Object> comparison(BinaryComparison e, Map<ExprId, String> attributes) {
    Expression left = (Expression) e.children().apply(0);
    Expression right = (Expression) e.children().apply(1);
    String op = operator(e);
    if (op == null) return null;
    if (left instanceof Literal && !(right instanceof Literal)) {
      Expression swap = left;
      left = right;
      right = swap;
      op = mirrored(op);
    }
    if (!(right instanceof Literal)) return null;
    if (!sameType(left, right)) return null;
    String type = left.dataType().simpleString();
    return comparisonMap(op, left, type, ((Literal) right).value(), attributes);
  }

  private static Map<String, Object> comparisonMap(
      String op, Expression column, String type, Object value, Map<ExprId, String> attributes) {
    List<String> path = path(column, attributes);
    if (path == null) return null;
    if (value == null && !"<=>".equals(op)) {
      Map<String, Object> never = node("const");
      never.put("value", null);
      return never;
    }
    Object json = value == null ? null : value(value);
    if (value != null && json == null) return null;
    Map<String, Object> m = node(op);
    m.put("col", path);
    m.put("type", type);
    m.put("value", json);
    return m;
  }

  private static String operator(BinaryComparison e) {
    if (e instanceof EqualTo) return "=";
    if (e instanceof EqualNullSafe) return "<=>";
    if (e instanceof LessThan) return "<";
    if (e instanceof LessThanOrEqual) return "<=";
    if (e instanceof GreaterThan) return ">";
    if (e instanceof GreaterThanOrEqual) return ">=";
    return null;
  }

  private static String mirrored(String op) {
    switch (op) {
      case "<":
        return ">";
      case "<=":
        return ">=";
      case ">":
        return "<";
      case ">=":
        return "<=";
      default:
        return op;
    }
  }

  private static Map<String, Object> in(In e, Map<ExprId, String> attributes) {
    List<String> path = path(e.value(), attributes);
    if (path == null) return null;
    List<Object> values = new ArrayList<>();
    boolean hasNull = false;
    scala.collection.Iterator it = e.list().iterator();
    while (it.hasNext()) {
      Object item = it.next();
      if (!(item instanceof Literal) || !sameType(e.value(), (Expression) item)) return null;
      Object v = ((Literal) item).value();
      if (v == null) {
        hasNull = true;
        continue;
      }
      Object json = value(v);
      if (json == null) return null;
      values.add(json);
    }
    return inMap(path, e.value().dataType(), values, hasNull);
  }

  private static Map<String, Object> inSet(InSet e, Map<ExprId, String> attributes) {
    Expression child = (Expression) e.child();
    List<String> path = path(child, attributes);
    if (path == null) return null;
    List<Object> values = new ArrayList<>();
    boolean hasNull = false;
    scala.collection.Iterator it = e.hset().iterator();
    while (it.hasNext()) {
      Object v = it.next();
      if (v == null) {
        hasNull = true;
        continue;
      }
      Object json = value(v);
      if (json == null) return null;
      values.add(json);
    }
    return inMap(path, child.dataType(), values, hasNull);
  }

  private static Map<String, Object> inMap(
      List<String> path, DataType type, List<Object> values, boolean hasNull) {
    Map<String, Object> m = node("in");
    m.put("col", path);
    m.put("type", type.simpleString());
    m.put("values", values);
    m.put("null", hasNull);
    return m;
  }

  private static Map<String, Object> unary(
      String op, Expression column, Map<ExprId, String> attributes) {
    List<String> path = path(column, attributes);
    if (path == null) return null;
    Map<String, Object> m = node(op);
    m.put("col", path);
    return m;
  }

  private static Map<String, Object> startsWith(StartsWith e, Map<ExprId, String> attributes) {
    List<String> path = path(e.left(), attributes);
    if (path == null || !(e.right() instanceof Literal) || !sameType(e.left(), e.right())) return null;
    Object prefix = ((Literal) e.right()).value();
    if (prefix == null || !"string".equals(e.left().dataType().simpleString())) return null;
    Map<String, Object> m = node("startswith");
    m.put("col", path);
    m.put("value", value(prefix));
    return m;
  }

  /** Names from the leaf's column down to the field, or null when it is not a plain column. */
  public static List<String> path(Expression e, Map<ExprId, String> attributes) {
    if (e instanceof AttributeReference) {
      AttributeReference a = (AttributeReference) e;
      String name = (String) attributes.get(a.exprId());
      if (name == null || !name.equals(a.name())) return null;
      List<String> path = new ArrayList<>();
      path.add(name);
      return path;
    }
    if (e instanceof GetStructField) {
      GetStructField g = (GetStructField) e;
      Expression child = (Expression) g.child();
      List<String> path = path(child, attributes);
      if (path == null || !(child.dataType() instanceof StructType)) return null;
      path.add(((StructType) child.dataType()).fields()[g.ordinal()].name());
      return path;
    }
    if (e instanceof Cast) {
      Expression child = (Expression) ((Cast) e).child();
      return widens(child.dataType(), e.dataType()) ? path(child, attributes) : null;
    }
    // Spark puts both around keys of joins; -0.0 and NaN have one key code each anyway
    if (e instanceof KnownFloatingPointNormalized || e instanceof NormalizeNaNAndZero) {
      return path((Expression) e.children().apply(0), attributes);
    }
    return null;
  }

  /** Casts that leave a value's key code as it is. */
  private static boolean widens(DataType from, DataType to) {
    if ("float".equals(from.simpleString())) return "double".equals(to.simpleString());
    return integerBits(from) > 0 && integerBits(from) < integerBits(to);
  }

  private static int integerBits(DataType type) {
    switch (type.simpleString()) {
      case "tinyint":
        return 8;
      case "smallint":
        return 16;
      case "int":
        return 32;
      case "bigint":
        return 64;
      default:
        return 0;
    }
  }

  private static boolean sameType(Expression a, Expression b) {
    return a.dataType().simpleString().equals(b.dataType().simpleString());
  }

  /**
   * Integers and the bits of doubles as decimal strings, byte strings as base64, booleans as they
   * are; else null.
   */
  private static Object value(Object v) {
    if (v instanceof Boolean) return v;
    if (v instanceof Byte || v instanceof Short || v instanceof Integer || v instanceof Long) {
      return v.toString();
    }
    if (v instanceof Float || v instanceof Double) {
      return Long.toString(Double.doubleToLongBits(((Number) v).doubleValue()));
    }
    if (v instanceof Decimal) {
      BigDecimal decimal = ((Decimal) v).toJavaBigDecimal();
      return decimal.scale() == ((Decimal) v).scale() ? decimal.unscaledValue().toString() : null;
    }
    if (v instanceof UTF8String) return Base64.getEncoder().encodeToString(((UTF8String) v).getBytes());
    if (v instanceof byte[]) return Base64.getEncoder().encodeToString((byte[]) v);
    return null;
  }

  /** The condition that matches every row. */
  public static Map<String, Object> unknown(String text) {
    Map<String, Object> m = node("unknown");
    m.put("text", text);
    return m;
  }

  private static Map<String, Object> node(String op) {
    Map<String, Object> m = new LinkedHashMap<>();
    m.put("op", op);
    return m;
  }
}
