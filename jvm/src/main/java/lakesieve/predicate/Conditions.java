package lakesieve.predicate;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import lakesieve.spark.Scala;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.BinaryComparison;
import org.apache.spark.sql.catalyst.expressions.BinaryOperator;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GreaterThan;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.LessThan;
import org.apache.spark.sql.catalyst.expressions.LessThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.expressions.StartsWith;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/**
 * Translates Catalyst's conditions to the protocol with Python, as maps for JSON.
 *
 * <p>A condition that the protocol does not have becomes "unknown", which matches every row. {@code
 * joins.KeyValues} writes the keys of joins.
 */
public final class Conditions {
  private static final Pattern NUMBER = Pattern.compile("#\\d+L?");
  private static final int LONGEST = 120;
  private final LeafColumns columns;

  private Conditions(LeafColumns columns) {
    this.columns = columns;
  }

  /** Translate a condition on the columns of a leaf. */
  public static Map<String, Object> of(Expression condition, LeafColumns columns) {
    return new Conditions(columns).translated(condition);
  }

  /** Return the condition that matches every row. */
  public static Map<String, Object> unknown(String text) {
    Map<String, Object> condition = condition("unknown");
    condition.put("text", text);
    return condition;
  }

  private Map<String, Object> translated(Expression e) {
    if (e instanceof And) return chain("and", And.class, e);
    if (e instanceof Or) return chain("or", Or.class, e);
    if (e instanceof Not not) {
      Map<String, Object> negation = condition("not");
      negation.put("arg", translated(not.child()));
      return negation;
    }
    Map<String, Object> known = leaf(e);
    if (known == null && DataTypes.BooleanType.equals(e.dataType())) {
      // an index may have this condition itself as its key
      known = compared("=", e, true, e);
    }
    if (known == null) known = unknown(text(e));
    Map<String, Object> ofText = TextConditions.of(e, columns, known);
    return ofText == null ? known : ofText;
  }

  /** Return a condition for a person, without the numbers of Catalyst's columns. */
  static String text(Expression e) {
    String text;
    try {
      text = NUMBER.matcher(e.toString()).replaceAll("");
    } catch (RuntimeException | LinkageError | StackOverflowError failure) {
      // what only explains must not end the planning
      return e.getClass().getSimpleName();
    }
    // operators are printed in parentheses
    if (e instanceof BinaryOperator) text = text.substring(1, text.length() - 1);
    return text.length() <= LONGEST ? text : text.substring(0, LONGEST - 3) + "...";
  }

  /** Return a condition that contains no other conditions, or null if the protocol has none. */
  private Map<String, Object> leaf(Expression e) {
    if (e instanceof BinaryComparison comparison) return comparison(comparison);
    if (e instanceof In in) return in(in);
    if (e instanceof InSet in) return isIn(e, in.child(), Scala.list(in.hset().toSeq()));
    if (e instanceof IsNull isNull) return of("isnull", operand(isNull.child(), e));
    if (e instanceof IsNotNull notNull) return of("isnotnull", operand(notNull.child(), e));
    if (e instanceof StartsWith startsWith) return startsWith(startsWith);
    if (ElementConditions.isOne(e)) return ElementConditions.of(e, columns);
    return e instanceof Literal literal && DataTypes.BooleanType.equals(e.dataType())
        ? constant(literal.value())
        : null;
  }

  /** Flatten a chain of AND or OR, so that the depth follows nesting, not length. */
  private Map<String, Object> chain(
      String op, Class<? extends Expression> kind, Expression topmost) {
    List<Map<String, Object>> args = new ArrayList<>();
    Deque<Expression> pending = new ArrayDeque<>(List.of(topmost));
    while (!pending.isEmpty()) {
      Expression e = pending.pop();
      if (!kind.isInstance(e)) {
        args.add(translated(e));
        continue;
      }
      List<Expression> children = new ArrayList<>(Scala.list(e.children()));
      Collections.reverse(children);
      children.forEach(pending::push);
    }
    Map<String, Object> condition = condition(op);
    condition.put("args", args);
    return condition;
  }

  private Map<String, Object> comparison(BinaryComparison e) {
    String op = operator(e);
    if (op == null || !isSameType(e.left(), e.right())) return null;
    if (e.right() instanceof Literal literal) return compared(op, e.left(), literal.value(), e);
    if (e.left() instanceof Literal literal) {
      return compared(mirrored(op), e.right(), literal.value(), e);
    }
    return null;
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
    return switch (op) {
      case "<" -> ">";
      case "<=" -> ">=";
      case ">" -> "<";
      case ">=" -> "<=";
      default -> op;
    };
  }

  private Map<String, Object> compared(String op, Expression e, Object value, Expression whole) {
    return compared(op, operand(e, whole), e.dataType(), value);
  }

  /** Compare an operand with a value, or return null if the protocol cannot. */
  static Map<String, Object> compared(
      String op, Map<String, Object> operand, DataType type, Object value) {
    if (operand == null) return null;
    if (value == null) return op.equals("<=>") ? of("isnull", operand) : constant(null);
    Map<String, Object> condition = typed(op, operand, type);
    Object encoded = condition == null ? null : KeyType.of(type).encoded(value);
    if (encoded == null) return null;
    condition.put("value", encoded);
    return condition;
  }

  private Map<String, Object> in(In e) {
    List<Object> values = new ArrayList<>();
    for (Expression item : Scala.list(e.list())) {
      if (!(item instanceof Literal literal) || !isSameType(e.value(), item)) return null;
      values.add(literal.value());
    }
    return isIn(e, e.value(), values);
  }

  private Map<String, Object> isIn(Expression whole, Expression e, Iterable<?> values) {
    return isIn(operand(e, whole), e.dataType(), values);
  }

  /** Return whether an operand is one of some values, or null if the protocol cannot. */
  static Map<String, Object> isIn(
      Map<String, Object> operand, DataType dataType, Iterable<?> values) {
    Map<String, Object> condition = operand == null ? null : typed("in", operand, dataType);
    if (condition == null) return null;
    KeyType type = KeyType.of(dataType);
    List<Object> others = new ArrayList<>();
    boolean hasNull = false;
    for (Object value : values) {
      if (value == null) {
        hasNull = true;
        continue;
      }
      Object encoded = type.encoded(value);
      if (encoded == null) return null;
      others.add(encoded);
    }
    condition.put("values", others);
    condition.put("null", hasNull);
    return condition;
  }

  private Map<String, Object> startsWith(StartsWith e) {
    KeyType type = KeyType.of(e.left().dataType());
    boolean isText = type != null && type.name().equals("string");
    if (!isText || !isSameType(e.left(), e.right())) return null;
    if (!(e.right() instanceof Literal prefix) || prefix.value() == null) return null;
    Map<String, Object> condition = of("startswith", operand(e.left(), e));
    if (condition != null) condition.put("value", type.encoded(prefix.value()));
    return condition;
  }

  private static boolean isSameType(Expression a, Expression b) {
    return LeafColumns.isSame(a.dataType(), b.dataType());
  }

  private static Map<String, Object> constant(Object value) {
    Map<String, Object> condition = condition("const");
    condition.put("value", value);
    return condition;
  }

  /**
   * Return the field of a condition that names a column or an expression over columns, or null.
   *
   * @param whole the condition, as a person reads it
   */
  private Map<String, Object> operand(Expression e, Expression whole) {
    List<String> path = columns.path(e);
    if (path != null) return Map.of("col", path);
    List<Object> tree = MapEntries.ofValue(LeafColumns.unwrapped(e), columns);
    if (tree == null) tree = ExpressionTree.ofCondition(LeafColumns.unwrapped(e), columns);
    return tree == null ? null : Map.of("expr", Map.of("tree", tree, "text", text(whole)));
  }

  /** Return the condition that one of many parts meets a condition, or null if one is null. */
  static Map<String, Object> some(
      String op, List<Object> tree, String text, Map<String, Object> ofOne) {
    if (tree == null || ofOne == null) return null;
    Map<String, Object> condition = condition(op);
    condition.put("expr", Map.of("tree", tree, "text", text));
    condition.put("arg", ofOne);
    return condition;
  }

  private static Map<String, Object> typed(String op, Map<String, Object> operand, DataType type) {
    KeyType known = KeyType.of(type);
    if (known == null) return null;
    Map<String, Object> condition = of(op, operand);
    known.describe(condition);
    return condition;
  }

  private static Map<String, Object> of(String op, Map<String, Object> operand) {
    if (operand == null) return null;
    Map<String, Object> condition = condition(op);
    condition.putAll(operand);
    return condition;
  }

  static Map<String, Object> condition(String op) {
    Map<String, Object> condition = new LinkedHashMap<>();
    condition.put("op", op);
    return condition;
  }
}
