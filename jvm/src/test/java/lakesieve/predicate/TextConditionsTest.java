package lakesieve.predicate;

import static lakesieve.predicate.Expressions.column;
import static lakesieve.predicate.Expressions.field;
import static lakesieve.predicate.Expressions.literal;
import static lakesieve.predicate.Expressions.text;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Contains;
import org.apache.spark.sql.catalyst.expressions.EndsWith;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Like;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Lower;
import org.apache.spark.sql.catalyst.expressions.RLike;
import org.apache.spark.sql.catalyst.expressions.StartsWith;
import org.apache.spark.sql.catalyst.expressions.Upper;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.Test;

class TextConditionsTest {
  private static final AttributeReference TEXT = column("s", DataTypes.StringType);
  private static final AttributeReference BYTES = column("b", DataTypes.BinaryType);
  private static final AttributeReference STRUCT =
      column(
          "r",
          DataTypes.createStructType(
              List.of(DataTypes.createStructField("f", DataTypes.StringType, true))));
  private static final LeafColumns COLUMNS = new LeafColumns(List.of(TEXT, BYTES, STRUCT));
  private static final Map<String, Object> OTHERWISE = Map.of("op", "unknown", "text", "?");

  private static Map<String, Object> json(Expression e) {
    return TextConditions.of(e, COLUMNS, OTHERWISE);
  }

  private static Literal constant(String value) {
    return literal(text(value), DataTypes.StringType);
  }

  private static Map<String, Object> expected(boolean begins, boolean ends, String... parts) {
    Base64.Encoder base64 = Base64.getEncoder();
    Map<String, Object> condition = new HashMap<>(Map.of("op", "text", "otherwise", OTHERWISE));
    condition.put("col", List.of("s"));
    condition.put(
        "parts",
        Arrays.stream(parts)
            .map(part -> base64.encodeToString(part.getBytes(StandardCharsets.UTF_8)))
            .toList());
    condition.put("begins", begins);
    condition.put("ends", ends);
    condition.put("folded", false);
    return condition;
  }

  private static Map<String, Object> folded(boolean begins, boolean ends, String... parts) {
    Map<String, Object> condition = expected(begins, ends, parts);
    condition.put("folded", true);
    return condition;
  }

  private static Expression like(String pattern) {
    return new Like(TEXT, constant(pattern), '\\');
  }

  /** A text contains a constant, or ends with it. */
  @Test
  void containsAndEnds() {
    assertEquals(expected(false, false, "a b"), json(new Contains(TEXT, constant("a b"))));
    assertEquals(expected(false, true, "ß"), json(new EndsWith(TEXT, constant("ß"))));
    Map<String, Object> inner = expected(false, false, "x");
    inner.put("col", List.of("r", "f"));
    assertEquals(inner, json(new Contains(field(STRUCT, 0), constant("x"))));
  }

  /** A pattern has the parts between its wildcards, and escaped wildcards are letters. */
  @Test
  void patterns() {
    assertEquals(expected(false, false, "a", "b"), json(like("%a%b%")));
    assertEquals(expected(true, true, "a", "b"), json(like("a_b")));
    assertEquals(expected(true, false, "a", "b"), json(like("a%b_")));
    assertEquals(expected(false, true, "a"), json(like("__a")));
    assertEquals(expected(true, true, "100%_\\"), json(like("100\\%\\_\\\\")));
    assertEquals(expected(false, true, "%"), json(like("%\\%")));
    assertEquals(expected(true, false, "\\a"), json(new Like(TEXT, constant("\\a%"), '!')));
  }

  /** The lower case of a column has the parts; the planner does not know them of comparisons. */
  @Test
  void lowerCase() {
    Expression lower = new Lower(TEXT);
    assertEquals(folded(false, false, "a"), json(new Contains(lower, constant("a"))));
    assertEquals(folded(true, false, "a"), json(new StartsWith(lower, constant("a"))));
    assertEquals(folded(true, true, "a"), json(new EqualTo(lower, constant("a"))));
    assertEquals(folded(false, false, "a"), json(new Like(lower, constant("%a%"), '\\')));
    assertEquals(null, json(new StartsWith(TEXT, constant("a"))));
    assertEquals(null, json(new EqualTo(TEXT, constant("a"))));
  }

  /** The planner reads regular expressions itself. */
  @Test
  void regularExpressions() {
    Map<String, Object> condition = new HashMap<>(Map.of("op", "matches", "otherwise", OTHERWISE));
    condition.put("col", List.of("s"));
    condition.put("regex", Base64.getEncoder().encodeToString("a|b".getBytes()));
    condition.put("folded", false);
    assertEquals(condition, json(new RLike(TEXT, constant("a|b"))));
    condition.put("folded", true);
    assertEquals(condition, json(new RLike(new Lower(TEXT), constant("a|b"))));
    assertEquals(null, json(new RLike(TEXT, TEXT)));
  }

  /** Patterns without parts, texts that are no columns, and odd patterns have no condition. */
  @Test
  void otherForms() {
    for (Expression e :
        List.of(
            like("%_%"),
            like(""),
            like("a\\"),
            like("%\uFFFD%"),
            new Like(TEXT, TEXT, '\\'),
            new Contains(TEXT, constant("")),
            new Contains(TEXT, literal(null, DataTypes.StringType)),
            new Contains(new Upper(TEXT), constant("A")),
            new Contains(new Lower(new Upper(TEXT)), constant("A")),
            new Lower(TEXT),
            new Contains(BYTES, literal(new byte[] {1}, DataTypes.BinaryType)),
            new Contains(column("s", DataTypes.StringType), constant("a")),
            new Upper(TEXT))) {
      assertEquals(null, json(e));
    }
  }
}
