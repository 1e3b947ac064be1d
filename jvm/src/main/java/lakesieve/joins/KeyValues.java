package lakesieve.joins;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import lakesieve.predicate.KeyType;
import lakesieve.predicate.Substitution;
import lakesieve.spark.Scala;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.Seq;

/** The distinct values of an expression over some rows, as conditions. */
final class KeyValues {
  private static final int MAX_FOR_ROWS = 10000;
  // types that compare in another way than they hash, such as -0.0 and NaN
  private static final Set<String> NOT_HASHED = Set.of("binary", "float", "double");
  // types of fixed width, besides decimals
  private static final Set<String> WORDS =
      Set.of(
          "boolean",
          "tinyint",
          "smallint",
          "int",
          "bigint",
          "float",
          "double",
          "date",
          "timestamp",
          "timestamp_ntz");

  private final DataType type;
  private final String name;
  private final boolean isText;
  private final Set<Object> values = new HashSet<>();

  private KeyValues(DataType type, String name, boolean isText) {
    this.type = type;
    this.name = name;
    this.isText = isText;
  }

  /**
   * The values, or null when the type is unknown.
   *
   * @param key the expression
   * @param output columns of the rows
   */
  static KeyValues of(Expression key, Seq<Attribute> output, InternalRow[] rows) {
    DataType type = key.dataType();
    String name = type.simpleString();
    boolean isText = name.equals("string") || name.equals("binary");
    if (KeyType.of(type) == null || !isText && !isWord(type, name)) return null;
    Map<ExprId, Expression> bound = new HashMap<>();
    for (int i = 0; i < output.size(); i++) {
      Attribute a = output.apply(i);
      bound.put(a.exprId(), new BoundReference(i, a.dataType(), a.nullable()));
    }
    Expression ofRow = key.transform(new Substitution(bound));
    KeyValues result = new KeyValues(type, name, isText);
    for (InternalRow row : rows) {
      Object value = ofRow.eval(row);
      // nothing equals null, and Java's byte arrays do not compare by content
      if (value instanceof byte[] bytes) value = UTF8String.fromBytes(bytes);
      if (value != null) result.values.add(value);
    }
    return result;
  }

  /** The condition that a column, a path of names, has one of the values; for Python. */
  Map<String, Object> condition(List<String> column) {
    Map<String, Object> m = new LinkedHashMap<>();
    m.put("op", "keys");
    m.put("col", column);
    KeyType.of(type).describe(m);
    if (isText) putTexts(m, values);
    else putWords(m);
    return m;
  }

  /**
   * The condition that an expression has one of the values. It is null if Spark would evaluate the
   * condition in another way than the join.
   */
  Expression ofRows(Expression column) {
    if (NOT_HASHED.contains(name) || !column.dataType().equals(type)) return null;
    if (values.size() > MAX_FOR_ROWS) return null;
    return new InSet(column, Scala.<Object>seq(new ArrayList<>(values)).toSet());
  }

  private static boolean isWord(DataType type, String name) {
    if (type instanceof DecimalType decimal) return decimal.precision() <= 18;
    return WORDS.contains(name);
  }

  /** A value of 64 bits: a number's, or those of a double. */
  private static long word(Object value, DataType type) {
    if (value instanceof Boolean truth) return truth ? 1L : 0L;
    if (value instanceof Float || value instanceof Double) {
      return Double.doubleToLongBits(((Number) value).doubleValue());
    }
    if (value instanceof Decimal decimal) {
      if (decimal.scale() != ((DecimalType) type).scale()) throw new IllegalStateException("scale");
      return decimal.toUnscaledLong();
    }
    return ((Number) value).longValue();
  }

  private void putWords(Map<String, Object> m) {
    Set<Long> words = new HashSet<>();
    for (Object value : values) words.add(word(value, type));
    ByteBuffer bytes = ByteBuffer.allocate(8 * words.size()).order(ByteOrder.LITTLE_ENDIAN);
    for (Long word : words) bytes.putLong(word);
    m.put("count", words.size());
    m.put("values", Base64.getEncoder().encodeToString(bytes.array()));
  }

  private static void putTexts(Map<String, Object> m, Set<Object> values) {
    m.put("count", values.size());
    ByteBuffer lengths = ByteBuffer.allocate(4 * values.size()).order(ByteOrder.LITTLE_ENDIAN);
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    for (Object value : values) {
      byte[] text = ((UTF8String) value).getBytes();
      lengths.putInt(text.length);
      bytes.write(text, 0, text.length);
    }
    m.put("lengths", Base64.getEncoder().encodeToString(lengths.array()));
    m.put("values", Base64.getEncoder().encodeToString(bytes.toByteArray()));
  }
}
