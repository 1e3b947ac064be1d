package lakesieve.deletes;

import static org.apache.iceberg.types.Types.NestedField.optional;
import static org.apache.iceberg.types.Types.NestedField.required;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.Schema;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.Test;

/** Schemas that have all equality columns. */
class KeySchemasTest {
  private static final Types.NestedField ID = required(1, "id", Types.LongType.get());
  private static final Types.NestedField NAME = optional(2, "name", Types.StringType.get());
  private static final Types.NestedField POINT =
      optional(3, "point", Types.StructType.of(required(4, "x.y", Types.IntegerType.get())));

  /** Equality columns that the schema has are not added again. */
  @Test
  void leavesACompleteSchema() {
    Schema schema = new Schema(7, ID, NAME, POINT);

    Schema complete = KeySchemas.withDropped(schema, List.of(1, 4), List.of(schema));

    assertTrue(complete.sameSchema(schema));
    assertEquals(7, complete.schemaId());
  }

  /** A dropped column has the type of its newest schema, and is optional: new files lack it. */
  @Test
  void addsADroppedColumnWithItsNewestType() {
    Schema first = new Schema(0, ID, required(5, "key", Types.IntegerType.get()));
    Schema widened = new Schema(1, ID, required(5, "key", Types.LongType.get()));
    Schema current = new Schema(2, ID);

    Schema complete = KeySchemas.withDropped(current, List.of(5), List.of(current, widened, first));

    Types.NestedField added = complete.findField(5);
    assertEquals(List.of("id", added.name()), KeySchemas.names(complete));
    assertEquals(Types.LongType.get(), added.type());
    assertTrue(added.isOptional());
  }

  /** A field that was dropped from a struct cannot be read any more. */
  @Test
  void refusesAFieldDroppedFromAStruct() {
    Schema before = new Schema(0, ID, POINT);
    Schema current = new Schema(1, ID);

    Exception refusal =
        assertThrows(
            UnsupportedOperationException.class,
            () -> KeySchemas.withDropped(current, List.of(4), List.of(before, current)));

    assertEquals("field 4", refusal.getMessage());
  }

  /** A projection gets the equality columns that it lacks and loses its metadata columns. */
  @Test
  void addsKeysToAProjection() {
    Schema schema = new Schema(ID, NAME);
    Schema projection = new Schema(ID, MetadataColumns.FILE_PATH);

    Schema complete = KeySchemas.withKeys(projection, schema, List.of(1, 2));

    assertEquals(List.of(1, 2), complete.columns().stream().map(f -> f.fieldId()).toList());
    assertEquals(Types.StringType.get(), complete.findType(2));
  }

  /** A hidden column cannot collide with a column of the query. */
  @Test
  void addsKeysUnderNamesOfTheirOwn() {
    Schema schema = new Schema(ID, NAME);
    Schema projection = new Schema(required(1, "name", Types.LongType.get()));

    Schema complete = KeySchemas.withKeys(projection, schema, List.of(2));

    assertEquals(2, KeySchemas.names(complete).stream().distinct().count());
  }

  /** A key inside a struct must be read by the query itself. */
  @Test
  void addsNoKeyInsideAStruct() {
    Schema schema = new Schema(ID, POINT);

    assertThrows(
        UnsupportedOperationException.class,
        () -> KeySchemas.withKeys(new Schema(ID), schema, List.of(4)));
    assertTrue(
        KeySchemas.withKeys(new Schema(POINT), schema, List.of(4)).sameSchema(new Schema(POINT)));
  }

  /** A key that the version lacks is left to {@link KeySchemas#withDropped}. */
  @Test
  void leavesDroppedKeysOut() {
    Schema schema = new Schema(ID);

    assertTrue(KeySchemas.withKeys(schema, schema, List.of(9)).sameSchema(schema));
  }

  /** A path has one name a level, whatever characters the names have. */
  @Test
  void namesAFieldFromTheTop() {
    assertEquals(List.of("point", "x.y"), KeySchemas.path(new Schema(ID, POINT), 4));
    assertEquals(List.of("id"), KeySchemas.path(new Schema(ID, POINT), 1));
  }
}
