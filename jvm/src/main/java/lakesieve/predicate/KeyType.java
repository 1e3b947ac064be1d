package lakesieve.predicate;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A type of the protocol whose values an index can have as keys.
 *
 * @param name as in the protocol
 * @param scale digits after the point of decimals; 0 for all other types
 */
public record KeyType(String name, int scale) {
  private static final int MOST_DIGITS = 38;

  /** Return the protocol's type for one of Catalyst's, or null where there is none. */
  public static KeyType of(DataType type) {
    if (type instanceof DecimalType decimal) {
      boolean isPlain = decimal.scale() >= 0 && decimal.scale() <= MOST_DIGITS;
      return isPlain ? new KeyType("decimal", decimal.scale()) : null;
    }
    // the name of a string type includes its collation and length, which change how it compares
    return switch (type.simpleString()) {
      case "tinyint", "smallint", "int", "bigint" -> new KeyType("integer", 0);
      case "float", "double" -> new KeyType("float", 0);
      case "boolean", "date", "timestamp", "timestamp_ntz", "string", "binary" ->
          new KeyType(type.simpleString(), 0);
      default -> null;
    };
  }

  /** Put the type into a condition. */
  public void describe(Map<String, Object> condition) {
    condition.put("type", name);
    if (name.equals("decimal")) condition.put("scale", scale);
  }

  /**
   * Return one of Catalyst's internal values of this type as the protocol writes it, or null if it
   * cannot be written exactly.
   *
   * <p>Internal values (days, microseconds, unscaled decimals, UTF-8 bytes) do not depend on a
   * calendar or a time zone, unlike {@code java.sql} values.
   */
  public Object encoded(Object value) {
    return switch (name) {
      case "boolean" -> value instanceof Boolean ? value : null;
      case "float" -> value instanceof Float || value instanceof Double ? bits(value) : null;
      case "decimal" -> value instanceof Decimal decimal ? unscaled(decimal) : null;
      case "string", "binary" -> base64(value);
      default -> isInteger(value) ? Long.toString(((Number) value).longValue()) : null;
    };
  }

  /**
   * Return one of Catalyst's internal values that a document of the protocol has, or null if the
   * document has none of this type. It is the opposite of {@link #describe} and {@link #encoded}.
   *
   * @param document the type and the value, or null
   * @param type Catalyst's type of the value
   */
  public static Object decoded(Map<String, Object> document, DataType type) {
    Map<String, Object> own = new LinkedHashMap<>();
    KeyType key = of(type);
    if (key == null || document == null) return null;
    key.describe(own);
    own.put("value", document.get("value"));
    // more fields could change the meaning of the value
    return own.equals(document) ? key.decoded(document.get("value"), type) : null;
  }

  private Object decoded(Object value, DataType type) {
    if (value instanceof Boolean) return name.equals("boolean") ? value : null;
    // several floats have the same key
    if (!(value instanceof String text) || name.equals("float")) return null;
    if (name.equals("string")) return UTF8String.fromBytes(Base64.getDecoder().decode(text));
    if (name.equals("binary")) return Base64.getDecoder().decode(text);
    BigInteger number = new BigInteger(text);
    if (type instanceof DecimalType decimal) {
      BigDecimal exact = new BigDecimal(number, scale);
      boolean fits = exact.precision() <= decimal.precision();
      return fits ? Decimal.apply(exact, decimal.precision(), scale) : null;
    }
    if (number.bitLength() >= Byte.SIZE * type.defaultSize()) return null;
    return switch (type.defaultSize()) {
      case Byte.BYTES -> number.byteValue();
      case Short.BYTES -> number.shortValue();
      case Integer.BYTES -> number.intValue();
      default -> number.longValue();
    };
  }

  private static String bits(Object number) {
    return Long.toString(Double.doubleToLongBits(((Number) number).doubleValue()));
  }

  private String unscaled(Decimal decimal) {
    BigDecimal exact = decimal.toJavaBigDecimal();
    // a literal may have another scale than its type
    if (exact.stripTrailingZeros().scale() > scale) return null;
    return exact.setScale(scale).unscaledValue().toString();
  }

  private static String base64(Object value) {
    if (value instanceof UTF8String text) return base64(text.getBytes());
    return value instanceof byte[] bytes ? Base64.getEncoder().encodeToString(bytes) : null;
  }

  private static boolean isInteger(Object value) {
    return value instanceof Byte
        || value instanceof Short
        || value instanceof Integer
        || value instanceof Long;
  }
}
