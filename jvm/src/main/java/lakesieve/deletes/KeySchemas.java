package lakesieve.deletes;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.Schema;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types;

/** Schemas with the equality columns of all deletes, even if a version or query lacks them. */
final class KeySchemas {
  private static final String HIDDEN = "__lakesieve_column_";

  private KeySchemas() {}

  /**
   * A schema together with the equality columns that were dropped from it.
   *
   * @param ids field ids of the equality columns
   * @param history all schemas of the table
   */
  static Schema withDropped(Schema schema, Collection<Integer> ids, Collection<Schema> history) {
    List<Types.NestedField> columns = new ArrayList<>(schema.columns());
    for (int id : ids) {
      if (schema.findField(id) == null) columns.add(dropped(id, history));
    }
    return new Schema(schema.schemaId(), columns);
  }

  /**
   * The data columns of a projection, together with the equality columns that it lacks.
   *
   * @param ids field ids of the equality columns
   */
  static Schema withKeys(Schema projection, Schema schema, Collection<Integer> ids) {
    List<Types.NestedField> columns = new ArrayList<>();
    for (Types.NestedField field : projection.columns()) {
      if (!MetadataColumns.isMetadataColumn(field.fieldId())) columns.add(field);
    }
    for (int id : ids) {
      if (projection.findField(id) != null) continue;
      Types.NestedField field = schema.asStruct().field(id);
      if (field != null) {
        columns.add(Types.NestedField.from(field).withName(HIDDEN + id).build());
      } else if (schema.findField(id) != null) {
        throw new UnsupportedOperationException("key inside a struct");
      }
    }
    return new Schema(schema.schemaId(), columns);
  }

  /** An optional column like the latest top-level column with this id. */
  private static Types.NestedField dropped(int id, Collection<Schema> history) {
    Types.NestedField newest =
        history.stream()
            .filter(schema -> schema.asStruct().field(id) != null)
            .max(Comparator.comparingInt(Schema::schemaId))
            .map(schema -> schema.asStruct().field(id))
            .orElseThrow(() -> new UnsupportedOperationException("field " + id));
    return Types.NestedField.optional(id, HIDDEN + id, newest.type());
  }

  /** Names from the top-level column down to a field. */
  static List<String> path(Schema schema, int id) {
    Map<Integer, Integer> parents = TypeUtil.indexParents(schema.asStruct());
    LinkedList<String> names = new LinkedList<>();
    for (Integer field = id; field != null; field = parents.get(field)) {
      names.addFirst(schema.findField(field).name());
    }
    return names;
  }

  /** Names of the top-level columns. */
  static List<String> names(Schema schema) {
    return schema.columns().stream().map(Types.NestedField::name).toList();
  }
}
