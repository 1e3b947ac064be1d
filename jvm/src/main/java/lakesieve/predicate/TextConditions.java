package lakesieve.predicate;

import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Contains;
import org.apache.spark.sql.catalyst.expressions.EndsWith;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Like;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Translates conditions that a text has some constant parts, in this order.
 *
 * <p>The protocol's condition "text" says which texts can meet the condition. The condition itself
 * stands in it as "otherwise", for planners that know nothing of the parts.
 */
final class TextConditions {
  // Spark decodes texts for LIKE, and puts this character in the place of bytes that are no UTF-8
  private static final char REPLACEMENT = '\uFFFD';

  private TextConditions() {}

  /** The constant parts of a pattern, and whether texts begin and end with the outermost. */
  private record Pattern(List<byte[]> parts, boolean begins, boolean ends) {}

  /** Return a condition on the parts of a text, or null if the protocol has none. */
  static Map<String, Object> of(Expression e, LeafColumns columns, Map<String, Object> otherwise) {
    if (e instanceof Contains contains) {
      return text(contains.left(), plain(contains.right(), false), columns, otherwise);
    }
    if (e instanceof EndsWith endsWith) {
      return text(endsWith.left(), plain(endsWith.right(), true), columns, otherwise);
    }
    if (e instanceof Like like) {
      return text(like.left(), pattern(like.right(), like.escapeChar()), columns, otherwise);
    }
    return null;
  }

  private static Map<String, Object> text(
      Expression e, Pattern pattern, LeafColumns columns, Map<String, Object> otherwise) {
    KeyType type = KeyType.of(e.dataType());
    List<String> path = columns.path(e);
    if (type == null || !type.name().equals("string") || path == null) return null;
    if (pattern == null || pattern.parts().isEmpty()) return null;
    Map<String, Object> condition = Conditions.condition("text");
    condition.put("col", path);
    condition.put("parts", pattern.parts().stream().map(TextConditions::base64).toList());
    condition.put("begins", pattern.begins());
    condition.put("ends", pattern.ends());
    condition.put("otherwise", otherwise);
    return condition;
  }

  private static String base64(byte[] bytes) {
    return Base64.getEncoder().encodeToString(bytes);
  }

  private static Pattern plain(Expression e, boolean ends) {
    UTF8String text = constant(e);
    if (text == null || text.numBytes() == 0) return null;
    return new Pattern(List.of(text.getBytes()), false, ends);
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
