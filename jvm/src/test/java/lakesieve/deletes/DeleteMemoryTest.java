package lakesieve.deletes;

import static lakesieve.deletes.DeleteFilesForTests.equality;
import static org.apache.iceberg.types.Types.NestedField.optional;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.apache.iceberg.Schema;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.Test;

/** Heap that equality deletes need. */
class DeleteMemoryTest {
  private static long bytes(long records, Type type) {
    return DeleteMemory.of(equality("a", records, 1), new Schema(optional(1, "key", type)));
  }

  /** A record takes its own bytes and those of its values, as measured. */
  @Test
  void addsTheValues() {
    Schema schema =
        new Schema(
            optional(1, "id", Types.LongType.get()),
            optional(2, "name", Types.StringType.get()),
            optional(3, "flag", Types.BooleanType.get()));

    assertEquals(1000 * (170 + 24 + 80), DeleteMemory.of(equality("a", 1000, 1, 2, 3), schema));
  }

  /** Every type that a key may have takes something. */
  @Test
  void knowsEveryType() {
    List<Type> types =
        List.of(
            Types.IntegerType.get(),
            Types.DateType.get(),
            Types.TimeType.get(),
            Types.TimestampType.withZone(),
            Types.TimestampNanoType.withoutZone(),
            Types.UUIDType.get(),
            Types.FixedType.ofLength(8),
            Types.BinaryType.get(),
            Types.DecimalType.of(38, 2));
    for (Type type : types) assertTrue(bytes(1, type) > 170, type.toString());
    assertEquals(170 + 72, bytes(1, Types.TimestampNanoType.withoutZone()));
    assertEquals(170 + 104, bytes(1, Types.DecimalType.of(38, 2)));
  }

  /** A column that the schema lacks is taken for a text. */
  @Test
  void takesAnUnknownColumnForAText() {
    Schema schema = new Schema(optional(1, "id", Types.LongType.get()));

    assertEquals(2 * (170 + 80), DeleteMemory.of(equality("a", 2, 9), schema));
  }

  /** Billions of records are no overflow. */
  @Test
  void countsInLongs() {
    assertEquals((170L + 24) * 5_000_000_000L, bytes(5_000_000_000L, Types.LongType.get()));
  }
}
