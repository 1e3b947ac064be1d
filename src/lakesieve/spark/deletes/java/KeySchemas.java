package lakesieve.deletes;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types;

/** Schemas with the equality columns of all deletes, also those that a version or query lacks. */
public final class KeySchemas {
  private static final String HIDDEN = "__lakesieve_column_";

  private KeySchemas() {}

  /** A schema, with the equality columns that were dropped from it. */
  public static Schema withDropped(Table table, Schema schema, EqualityFiles deletes) {
    List<Types.NestedField> columns = new ArrayList<>(schema.columns());
    for (Integer id : ids(deletes)) {
      if (schema.findField(id) == null) columns.add(dropped(table, id));
    }
    return new Schema(schema.schemaId(), columns);
  }

  /** The data columns of a projection, with the equality columns of the schema that it lacks. */
  public static Schema withKeys(Schema projection, Schema schema, EqualityFiles deletes) {
    List<Types.NestedField> columns = new ArrayList<>();
    for (Types.NestedField field : projection.columns()) {
      if (!MetadataColumns.isMetadataColumn(field.fieldId())) columns.add(field);
    }
    for (Integer id : ids(deletes)) {
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

  /** Ids of all equality columns, in the order of the kinds. */
  private static Set<Integer> ids(EqualityFiles deletes) {
    Set<Integer> ids = new LinkedHashSet<>();
    for (EqualityFiles.Kind kind : deletes.kinds) ids.addAll(kind.ids);
    return ids;
  }

  /** An optional field like the one that the newest schema with this id has. */
  private static Types.NestedField dropped(Table table, int id) {
    Types.NestedField newest = null;
    int newestSchema = -1;
    for (Schema schema : table.schemas().values()) {
      Types.NestedField field = schema.asStruct().field(id);
      if (field != null && schema.schemaId() > newestSchema) {
        newest = field;
        newestSchema = schema.schemaId();
      }
    }
    if (newest == null) throw new UnsupportedOperationException("field " + id);
    return Types.NestedField.optional(id, HIDDEN + id, newest.type());
  }

  /** Names from the top-level column down to a field. */
  public static List<String> path(Schema schema, int id) {
    Map<Integer, Integer> parents = TypeUtil.indexParents(schema.asStruct());
    LinkedList<String> names = new LinkedList<>();
    for (Integer field = id; field != null; field = (Integer) parents.get(field)) {
      names.addFirst(schema.findField(field).name());
    }
    return names;
  }

  /** Names of the top-level columns. */
  public static List<String> names(Schema schema) {
    List<String> names = new ArrayList<>();
    for (Types.NestedField field : schema.columns()) names.add(field.name());
    return names;
  }
}
