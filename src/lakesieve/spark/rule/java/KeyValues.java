package lakesieve;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
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

  private final DataType type;
  private final String name;
  private final boolean isText;
  private final HashSet values = new HashSet();

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
    Map ordinals = new HashMap();
    for (int i = 0; i < output.size(); i++) {
      Attribute a = (Attribute) output.apply(i);
      ordinals.put(a.exprId(), new BoundReference(i, a.dataType(), a.nullable()));
    }
    Expression bound = (Expression) key.transform(new Substitution(ordinals));
    KeyValues result = new KeyValues(type, name, isText);
    for (int i = 0; i < rows.length; i++) {
      Object value = bound.eval(rows[i]);
      // nothing equals null; arrays of bytes do not compare
      if (value != null) result.values.add(value instanceof byte[] ? UTF8String.fromBytes((byte[]) value) : value);
    }
    return result;
  }

  /** The condition that a column, a path of names, has one of the values; for Python. */
  public Map condition(List column) {
    Map m = new LinkedHashMap();
    m.put("op", "keys");
    m.put("col", column);
    m.put("type", this.name);
    if (this.isText) putTexts(m, this.values);
    else putWords(m);
    return m;
  }

  /** The condition that an expression has one of the values; null where Spark would not answer it as a join does. */
  public Expression ofRows(Expression column) {
    // among those that compare otherwise than they hash are -0.0 and NaN
    boolean hashes = !this.name.equals("binary") && !this.name.equals("float") && !this.name.equals("double");
    if (!hashes || !column.dataType().equals(this.type) || this.values.size() > MAX_FOR_ROWS) return null;
    return new InSet(column, PythonUtils.toSeq(new ArrayList(this.values)).toSet());
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
    if (value instanceof Boolean) return Long.valueOf(((Boolean) value).booleanValue() ? 1L : 0L);
    if (value instanceof Float || value instanceof Double) {
      return Long.valueOf(Double.doubleToLongBits(((Number) value).doubleValue()));
    }
    if (value instanceof Decimal) {
      Decimal decimal = (Decimal) value;
      if (decimal.scale() != ((DecimalType) type).scale()) throw new IllegalStateException("scale");
      return Long.valueOf(decimal.toUnscaledLong());
    }
    return Long.valueOf(((Number) value).longValue());
  }

  private void putWords(Map m) {
    HashSet words = new HashSet();
    for (Iterator it = this.values.iterator(); it.hasNext(); ) words.add(word(it.next(), this.type));
    ByteBuffer bytes = ByteBuffer.allocate(8 * words.size()).order(ByteOrder.LITTLE_ENDIAN);
    for (Iterator it = words.iterator(); it.hasNext(); ) bytes.putLong(((Long) it.next()).longValue());
    m.put("count", Integer.valueOf(words.size()));
    m.put("values", Base64.getEncoder().encodeToString(bytes.array()));
  }

  private static void putTexts(Map m, HashSet values) {
    m.put("count", Integer.valueOf(values.size()));
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
