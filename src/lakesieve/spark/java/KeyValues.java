package lakesieve;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Base64;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Function1;
import scala.runtime.AbstractPartialFunction;

/** The distinct values of an expression over some rows, as a condition for Python. */
public final class KeyValues {
  private KeyValues() {}

  /**
   * The condition that a column has one of the values, or null when values of the type cannot be told.
   *
   * @param column the column's path of names
   * @param key what the column equals
   * @param output columns of the rows
   */
  public static Map of(List column, Expression key, scala.collection.Seq output, InternalRow[] rows) {
    DataType type = key.dataType();
    String name = type.simpleString();
    boolean text = name.equals("string") || name.equals("binary");
    if (!text && !isWord(type, name)) return null;
    Map ordinals = new HashMap();
    for (int i = 0; i < output.size(); i++) {
      Attribute a = (Attribute) output.apply(i);
      ordinals.put(a.exprId(), new BoundReference(i, a.dataType(), a.nullable()));
    }
    Expression bound = (Expression) key.transform(new Substitution(ordinals));
    HashSet values = new HashSet();
    for (int i = 0; i < rows.length; i++) {
      Object value = bound.eval(rows[i]);
      // nothing equals null
      if (value == null) continue;
      if (!text) values.add(word(value, type));
      else values.add(value instanceof byte[] ? UTF8String.fromBytes((byte[]) value) : value);
    }
    Map m = new LinkedHashMap();
    m.put("op", "keys");
    m.put("col", column);
    m.put("type", name);
    m.put("count", new Integer(values.size()));
    if (text) putTexts(m, values);
    else putWords(m, values);
    return m;
  }

  private static boolean isWord(DataType type, String name) {
    if (type instanceof DecimalType) return ((DecimalType) type).precision() <= 18;
    return name.equals("boolean")
        || name.equals("tinyint")
        || name.equals("smallint")
        || name.equals("int")
        || name.equals("bigint")
        || name.equals("float")
        || name.equals("double")
        || name.equals("date")
        || name.equals("timestamp")
        || name.equals("timestamp_ntz");
  }

  /** A value of 64 bits: a number's, or those of a double. */
  private static Long word(Object value, DataType type) {
    if (value instanceof Boolean) return new Long(((Boolean) value).booleanValue() ? 1L : 0L);
    if (value instanceof Float || value instanceof Double) {
      return new Long(Double.doubleToLongBits(((Number) value).doubleValue()));
    }
    if (value instanceof Decimal) {
      Decimal decimal = (Decimal) value;
      if (decimal.scale() != ((DecimalType) type).scale()) throw new IllegalStateException("scale");
      return new Long(decimal.toUnscaledLong());
    }
    return new Long(((Number) value).longValue());
  }

  private static void putWords(Map m, HashSet values) {
    ByteBuffer words = ByteBuffer.allocate(8 * values.size()).order(ByteOrder.LITTLE_ENDIAN);
    for (Iterator it = values.iterator(); it.hasNext(); ) words.putLong(((Long) it.next()).longValue());
    m.put("values", Base64.getEncoder().encodeToString(words.array()));
  }

  private static void putTexts(Map m, HashSet values) {
    ByteBuffer lengths = ByteBuffer.allocate(4 * values.size()).order(ByteOrder.LITTLE_ENDIAN);
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    for (Iterator it = values.iterator(); it.hasNext(); ) {
      byte[] value = ((UTF8String) it.next()).getBytes();
      lengths.putInt(value.length);
      bytes.write(value, 0, value.length);
    }
    m.put("lengths", Base64.getEncoder().encodeToString(lengths.array()));
    m.put("values", Base64.getEncoder().encodeToString(bytes.toByteArray()));
  }

  /** Other expressions for some attributes, by expression id. */
  public static final class Substitution extends AbstractPartialFunction {
    private final Map others;

    public Substitution(Map others) {
      this.others = others;
    }

    public boolean isDefinedAt(Object e) {
      return e instanceof AttributeReference && this.others.containsKey(((AttributeReference) e).exprId());
    }

    public Object applyOrElse(Object e, Function1 otherwise) {
      return isDefinedAt(e) ? this.others.get(((AttributeReference) e).exprId()) : otherwise.apply(e);
    }
  }
}
