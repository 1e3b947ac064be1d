package lakesieve.joins;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import lakesieve.spark.Scala;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

/** The keys of a join's rows, as conditions. */
class KeyValuesTest {
  private static Attribute column(DataType type) {
    return new AttributeReference(
        "k", type, true, Metadata.empty(), NamedExpression.newExprId(), Scala.seq(List.of()));
  }

  private static KeyValues values(Attribute column, Object... values) {
    InternalRow[] rows = new InternalRow[values.length];
    for (int i = 0; i < rows.length; i++) {
      rows[i] = new GenericInternalRow(new Object[] {values[i]});
    }
    return KeyValues.of(column, Scala.seq(List.of(column)), rows);
  }

  /** Keys are distinct, and null is none: it equals nothing. */
  @Test
  void keysAreDistinctValues() {
    Attribute column = column(DataTypes.LongType);

    KeyValues keys = values(column, 7L, null, 7L, -1L);

    Map<String, Object> condition = keys.condition(List.of("k"));
    assertEquals(List.of("k"), condition.get("col"));
    assertEquals(2, condition.get("count"));
    InSet ofRows = (InSet) keys.ofRows(column);
    assertEquals(2, ofRows.hset().size());
    assertTrue(ofRows.hset().contains(7L) && ofRows.hset().contains(-1L));
  }

  /** Arrays of bytes are compared by what they hold, and do not filter rows. */
  @Test
  void bytesAreComparedByContent() {
    Attribute column = column(DataTypes.BinaryType);

    KeyValues keys = values(column, new byte[] {1, 2}, new byte[] {1, 2}, new byte[] {});

    assertEquals(2, keys.condition(List.of("k")).get("count"));
    assertNull(keys.ofRows(column));
  }

  /** Keys of types that indexes do not know are none. */
  @Test
  void unknownTypesHaveNoKeys() {
    assertNull(values(column(DataTypes.createArrayType(DataTypes.LongType))));
    assertNull(values(column(DataTypes.createDecimalType(19, 0))));
    assertEquals(
        1,
        values(column(DataTypes.StringType), UTF8String.fromString("ä"))
            .condition(List.of())
            .get("count"));
  }

  /** Rows are not filtered by a key whose type differs from the column's. */
  @Test
  void rowsAreFilteredByKeysOfTheirOwnType() {
    assertNull(values(column(DataTypes.LongType), 1L).ofRows(column(DataTypes.IntegerType)));
    assertNull(values(column(DataTypes.DoubleType), 0.0).ofRows(column(DataTypes.DoubleType)));
  }
}
