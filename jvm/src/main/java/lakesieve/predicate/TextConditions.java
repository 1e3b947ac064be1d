package lakesieve.predicate;

import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.BinaryExpression;
import org.apache.spark.sql.catalyst.expressions.Contains;
import org.apache.spark.sql.catalyst.expressions.EndsWith;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Like;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Lower;
import org.apache.spark.sql.catalyst.expressions.RLike;
import org.apache.spark.sql.catalyst.expressions.StartsWith;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Translates conditions that a text, or its lower case, has some constant parts in this order, or
 * matches a regular expression.
 *
 * <p>The protocol's conditions "text" and "matches" say which texts can meet the condition. The
 * condition itself stands in them as "otherwise", for planners that know nothing of the parts.
 */
final class TextConditions {
  // Spark decodes texts for LIKE, and puts this character in the place of bytes that are no UTF-8
  private static final char REPLACEMENT = '\uFFFD';

  private TextConditions() {}

  /** The constant parts of a pattern, and whether texts begin and end with the outermost. */
  private record Pattern(List<byte[]> parts, boolean begins, boolean ends) {}

  /** A column of texts, and whether a condition is on their lower case. */
  private record Text(List<String> path, boolean isFolded) {}

  /** Return a condition on the parts of a text, or null if the protocol has none. */
  static Map<String, Object> of(Expression e, LeafColumns columns, Map<String, Object> otherwise) {
    if (!(e instanceof BinaryExpression binary)) return null;
    Text text = text(binary.left(), columns);
    if (text == null) return null;
    if (e instanceof RLike) return regex(text, binary.right(), otherwise);
    Pattern pattern = pattern(binary, text.isFolded());
    if (pattern == null || pattern.parts().isEmpty()) return null;
    Map<String, Object> condition = condition("text", text);
    condition.put("parts", pattern.parts().stream().map(TextConditions::base64).toList());
    condition.put("begins", pattern.begins());
    condition.put("ends", pattern.ends());
    condition.put("otherwise", otherwise);
    return condition;
  }

  private static Pattern pattern(BinaryExpression e, boolean isFolded) {
    if (e instanceof Contains) return plain(e.right(), false, false);
    if (e instanceof EndsWith) return plain(e.right(), false, true);
    if (e instanceof Like like) return pattern(like.right(), like.escapeChar());
    // the planner itself knows the parts of conditions that compare columns
    if (!isFolded) return null;
    if (e instanceof StartsWith) return plain(e.right(), true, false);
    return e instanceof EqualTo ? plain(e.right(), true, true) : null;
  }

  private static Map<String, Object> regex(
      Text text, Expression regex, Map<String, Object> otherwise) {
    UTF8String constant = constant(regex);
    if (constant == null) return null;
    Map<String, Object> condition = condition("matches", text);
    condition.put("regex", base64(constant.getBytes()));
    condition.put("otherwise", otherwise);
    return condition;
  }

  private static Map<String, Object> condition(String op, Text text) {
    Map<String, Object> condition = Conditions.condition(op);
    condition.put("col", text.path());
    condition.put("folded", text.isFolded());
    return condition;
  }

  /**
   * Return a column of texts, or null for any other expression than such a column in lower case.
   */
  private static Text text(Expression e, LeafColumns columns) {
    boolean isFolded = e instanceof Lower;
    Expression column = isFolded ? ((Lower) e).child() : e;
    KeyType type = KeyType.of(column.dataType());
    List<String> path = columns.path(column);
    if (type == null || !type.name().equals("string") || path == null) return null;
    return new Text(path, isFolded);
  }

  private static String base64(byte[] bytes) {
    return Base64.getEncoder().encodeToString(bytes);
  }

  private static Pattern plain(Expression e, boolean begins, boolean ends) {
    UTF8String text = constant(e);
    if (text == null || text.numBytes() == 0) return null;
    return new Pattern(List.of(text.getBytes()), begins, ends);
  }

  /** Return a constant text that compares by its bytes, or null for anything else. */
  private static UTF8String constant(Expression e) {
    KeyType type = KeyType.of(e.dataType());
    boolean isText = type != null && type.name().equals("string") && e instanceof Literal;
    return isText && ((Literal) e).value() instanceof UTF8String text ? text : null;
  }

  /** Return the parts of a pattern of LIKE between its wildcards. */
  private static Pattern pattern(Expression e, char escape) {
    UTF8String constant = constant(e);
    String pattern = constant == null ? "" : constant.toString();
    if (pattern.isEmpty() || pattern.indexOf(REPLACEMENT) >= 0) return null;
    List<byte[]> parts = new ArrayList<>();
    StringBuilder part = new StringBuilder();
    boolean begins = true;
    boolean ends = true;
    for (int at = 0; at < pattern.length(); at++) {
      char symbol = pattern.charAt(at);
      ends = true;
      if (symbol == escape) {
        // Spark refuses a pattern that ends here
        if (++at == pattern.length()) return null;
        part.append(pattern.charAt(at));
      } else if (symbol == '%' || symbol == '_') {
        if (parts.isEmpty() && part.isEmpty()) begins = false;
        add(part, parts);
        ends = false;
      } else {
        part.append(symbol);
      }
    }
    add(part, parts);
    return new Pattern(parts, begins, ends);
  }

  private static void add(StringBuilder part, List<byte[]> parts) {
    if (part.isEmpty()) return;
    parts.add(UTF8String.fromString(part.toString()).getBytes());
    part.setLength(0);
  }
}
