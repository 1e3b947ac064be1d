package lakesieve.predicate;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.math.BigDecimal;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.junit.jupiter.api.Test;

class KeyTypeTest {
  private static final Map<DataType, String> NAMES =
      Map.ofEntries(
          Map.entry(DataTypes.BooleanType, "boolean"),
          Map.entry(DataTypes.ByteType, "integer"),
          Map.entry(DataTypes.ShortType, "integer"),
          Map.entry(DataTypes.IntegerType, "integer"),
          Map.entry(DataTypes.LongType, "integer"),
          Map.entry(DataTypes.FloatType, "float"),
          Map.entry(DataTypes.DoubleType, "float"),
          Map.entry(DataTypes.DateType, "date"),
          Map.entry(DataTypes.TimestampType, "timestamp"),
          Map.entry(DataTypes.TimestampNTZType, "timestamp_ntz"),
          Map.entry(DataTypes.StringType, "string"),
          Map.entry(DataTypes.BinaryType, "binary"));

  private static Map<String, Object> described(DataType type) {
    Map<String, Object> condition = new LinkedHashMap<>();
    KeyType.of(type).describe(condition);
    return condition;
  }

  /** Each type of Catalyst that an index may have keys of has a name in the protocol. */
  @Test
  void namesAreThoseOfTheProtocol() {
    NAMES.forEach((type, name) -> assertEquals(Map.of("type", name), described(type)));
    assertEquals(
        Map.of("type", "decimal", "scale", 7), described(DataTypes.createDecimalType(20, 7)));
  }

  /** Types that compare otherwise, or that no index has keys of, have no name. */
  @Test
  void otherTypesHaveNoName() {
    List<DataType> others =
        List.of(
            DataTypes.NullType,
            DataTypes.CalendarIntervalType,
            DataTypes.createDayTimeIntervalType(),
            DataTypes.createYearMonthIntervalType(),
            DataTypes.createArrayType(DataTypes.LongType),
            DataTypes.createMapType(DataTypes.LongType, DataTypes.LongType),
            new org.apache.spark.sql.types.CharType(5),
            new org.apache.spark.sql.types.VarcharType(5));
    for (DataType type : others) assertNull(KeyType.of(type), type.simpleString());
  }

  /** Integers are decimal texts, also where a number of JSON would lose digits. */
  @Test
  void integersAreTexts() {
    KeyType type = KeyType.of(DataTypes.LongType);
    assertEquals("-128", type.encoded(Byte.MIN_VALUE));
    assertEquals("-32768", type.encoded(Short.MIN_VALUE));
    assertEquals("2147483647", type.encoded(Integer.MAX_VALUE));
    assertEquals("9223372036854775807", type.encoded(Long.MAX_VALUE));
    assertEquals("-719162", KeyType.of(DataTypes.DateType).encoded(-719162));
    assertEquals("-1", KeyType.of(DataTypes.TimestampType).encoded(-1L));
    assertEquals("1", KeyType.of(DataTypes.TimestampNTZType).encoded(1L));
  }

  /** Floats and doubles are the bits of doubles; each NaN has the same ones. */
  @Test
  void floatsAreBitsOfDoubles() {
    KeyType type = KeyType.of(DataTypes.FloatType);
    assertEquals(type, KeyType.of(DataTypes.DoubleType));
    assertEquals(bits(0.1f), type.encoded(0.1f));
    assertEquals(bits(0.1), type.encoded(0.1));
    assertEquals(Long.toString(Long.MIN_VALUE), type.encoded(-0.0));
    assertEquals(bits(Double.NaN), type.encoded(Double.longBitsToDouble(0xfff8000000000001L)));
    assertEquals(bits(Double.NaN), type.encoded(Float.NaN));
    assertEquals(bits(Double.NEGATIVE_INFINITY), type.encoded(Float.NEGATIVE_INFINITY));
  }

  /** Decimals are unscaled values at the scale of the type, whatever scale their own is. */
  @Test
  void decimalsHaveTheScaleOfTheirType() {
    KeyType type = KeyType.of(DataTypes.createDecimalType(38, 2));
    assertEquals("150", type.encoded(Decimal.apply(150L, 10, 2)));
    assertEquals("1500", type.encoded(Decimal.apply(15L, 10, 0)));
    assertEquals("150", type.encoded(Decimal.apply(15000L, 10, 4)));
    assertNull(type.encoded(Decimal.apply(15001L, 10, 4)));
    BigDecimal wide = new BigDecimal("-123456789012345678901234567890.12");
    assertEquals("-12345678901234567890123456789012", type.encoded(Decimal.apply(wide, 38, 2)));
    assertEquals("0", type.encoded(Decimal.apply(0L, 10, 5)));
  }

  /** Texts and bytes are base64 of their bytes. */
  @Test
  void textsAreBase64() {
    String encoded = Base64.getEncoder().encodeToString(new byte[] {(byte) 0xc3, (byte) 0xa4});
    assertEquals(encoded, KeyType.of(DataTypes.StringType).encoded(Expressions.text("ä")));
    byte[] bytes = {(byte) 0xc3, (byte) 0xa4};
    assertEquals(encoded, KeyType.of(DataTypes.BinaryType).encoded(bytes));
    assertEquals("", KeyType.of(DataTypes.StringType).encoded(Expressions.text("")));
  }

  /** A value of a class that the type does not have is not written. */
  @Test
  void valuesOfOtherClassesAreNotWritten() {
    assertNull(KeyType.of(DataTypes.LongType).encoded(1.5));
    assertNull(KeyType.of(DataTypes.DoubleType).encoded(1L));
    assertNull(KeyType.of(DataTypes.BooleanType).encoded(1));
    assertNull(KeyType.of(DataTypes.StringType).encoded("java's own"));
    assertNull(KeyType.of(DataTypes.createDecimalType(10, 2)).encoded(1L));
    assertEquals(true, KeyType.of(DataTypes.BooleanType).encoded(true));
  }

  /** A value that is written with its type is read again as it was. */
  @Test
  void valuesAreReadAgain() {
    DataType wide = DataTypes.createDecimalType(38, 2);
    Map<Object, DataType> values = new LinkedHashMap<>();
    values.put(true, DataTypes.BooleanType);
    values.put(Byte.MIN_VALUE, DataTypes.ByteType);
    values.put(Short.MIN_VALUE, DataTypes.ShortType);
    values.put(Integer.MAX_VALUE, DataTypes.IntegerType);
    values.put(Long.MIN_VALUE, DataTypes.LongType);
    values.put(-719162, DataTypes.DateType);
    values.put(-1L, DataTypes.TimestampType);
    values.put(1L, DataTypes.TimestampNTZType);
    values.put(Expressions.text("ä"), DataTypes.StringType);
    values.put(Decimal.apply(150L, 10, 2), DataTypes.createDecimalType(10, 2));
    values.put(Decimal.apply(new BigDecimal("-12345678901234567890.12"), 38, 2), wide);

    values.forEach(
        (value, type) -> assertEquals(value, KeyType.decoded(written(value, type), type)));
    byte[] bytes = {1, (byte) 0xff};
    Object read = KeyType.decoded(written(bytes, DataTypes.BinaryType), DataTypes.BinaryType);
    assertArrayEquals(bytes, (byte[]) read);
  }

  /** A value of another type, out of its range, or with more fields is not read. */
  @Test
  void otherDocumentsAreNotRead() {
    Map<String, Object> five = written(5L, DataTypes.LongType);
    Map<String, Object> more = new LinkedHashMap<>(five);
    more.put("expr", "k + 1");
    DataType decimal = DataTypes.createDecimalType(10, 2);

    assertNull(KeyType.decoded(five, DataTypes.TimestampType));
    assertNull(KeyType.decoded(five, DataTypes.BooleanType));
    assertNull(KeyType.decoded(more, DataTypes.LongType));
    assertNull(KeyType.decoded(null, DataTypes.LongType));
    assertNull(KeyType.decoded(written(0.0, DataTypes.DoubleType), DataTypes.DoubleType));
    assertNull(
        KeyType.decoded(
            written(Decimal.apply(5L, 10, 2), decimal), DataTypes.createDecimalType(10, 3)));
    assertNull(KeyType.decoded(written(300, DataTypes.IntegerType), DataTypes.ByteType));
  }

  private static Map<String, Object> written(Object value, DataType type) {
    Map<String, Object> document = described(type);
    document.put("value", KeyType.of(type).encoded(value));
    return document;
  }

  private static String bits(double value) {
    return Long.toString(Double.doubleToLongBits(value));
  }
}
