package lakesieve;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Function1;
import scala.runtime.AbstractPartialFunction;

/** The distinct values of an expression over some rows, as conditions. */
public final class KeyValues {
  private static final int MAX_FOR_ROWS = 10000;
  // compared otherwise than hashed; among floating-point numbers, -0.0 and NaN are
  private static final List<String> NOT_HASHED = Arrays.asList("binary", "float", "double");
  // types of fixed width, besides decimals
  private static final List<String> WORDS =
      Arrays.asList(
          "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "date", "timestamp",
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
  public static KeyValues of(Expression key, scala.collection.Seq output, InternalRow[] rows) {
    DataType type = key.dataType();
    String name = type.simpleString();
    boolean isText = name.equals("string") || name.equals("binary");
    if (!isText && !isWord(type, name)) return null;
    Map<ExprId, Expression> bound = new HashMap<>();
    for (int i = 0; i < output.size(); i++) {
      Attribute a = (Attribute) output.apply(i);
      bound.put(a.exprId(), new BoundReference(i, a.dataType(), a.nullable()));
    }
    Expression ofRow = (Expression) key.transform(new Substitution(bound));
    KeyValues result = new KeyValues(type, name, isText);
    for (InternalRow row : rows) {
      Object value = ofRow.eval(row);
      // nothing equals null; arrays of bytes do not compare
      if (value instanceof byte[]) value = UTF8String.fromBytes((byte[]) value);
      if (value != null) result.values.add(value);
    }
    return result;
  }

  /** The condition that a column, a path of names, has one of the values; for Python. */
  public Map<String, Object> condition(List<String> column) {
    Map<String, Object> m = new LinkedHashMap<>();
    m.put("op", "keys");
    m.put("col", column);
    m.put("type", this.name);
    if (this.isText) putTexts(m, this.values);
    else putWords(m);
    return m;
  }

  /**
   * The condition that an expression has one of the values; null where Spark would not evaluate it as
   * it does a join.
   */
  public Expression ofRows(Expression column) {
    if (NOT_HASHED.contains(this.name) || !column.dataType().equals(this.type)) return null;
    if (this.values.size() > MAX_FOR_ROWS) return null;
    return new InSet(column, PythonUtils.toSeq(new ArrayList<>(this.values)).toSet());
  }

  private static boolean isWord(DataType type, String name) {
    if (type instanceof DecimalType) return ((DecimalType) type).precision() <= 18;
    return WORDS.contains(name);
  }

  /** A value of 64 bits: a number's, or those of a double. */
  private static long word(Object value, DataType type) {
    if (value instanceof Boolean) return (Boolean) value ? 1L : 0L;
    if (value instanceof Float || value instanceof Double) {
      return Double.doubleToLongBits(((Number) value).doubleValue());
    }
    if (value instanceof Decimal) {
      Decimal decimal = (Decimal) value;
      if (decimal.scale() != ((DecimalType) type).scale()) throw new IllegalStateException("scale");
      return decimal.toUnscaledLong();
    }
    return ((Number) value).longValue();
  }

  private void putWords(Map<String, Object> m) {
    Set<Long> words = new HashSet<>();
    for (Object value : this.values) words.add(word(value, this.type));
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

  /** Replaces attributes by other expressions. */
  public static final class Substitution extends AbstractPartialFunction {
    private final Map<ExprId, Expression> others;

    /** Make it of the other expressions by the ids of the attributes. */
    public Substitution(Map<ExprId, Expression> others) {
      this.others = others;
    }

    /** True for an attribute that is replaced. */
    @Override
    public boolean isDefinedAt(Object e) {
      return e instanceof AttributeReference
          && this.others.containsKey(((AttributeReference) e).exprId());
    }

    /** The expression that replaces an attribute, or what the function says. */
    @Override
    public Object applyOrElse(Object e, Function1 otherwise) {
      if (!isDefinedAt(e)) return otherwise.apply(e);
      return this.others.get(((AttributeReference) e).exprId());
    }
  }
}
