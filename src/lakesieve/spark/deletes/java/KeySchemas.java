package lakesieve.deletes;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types;

/** Schemas that have the equality columns of all deletes, whatever the version or a query has. */
public final class KeySchemas {
  private static final String HIDDEN = "__lakesieve_column_";

  private KeySchemas() {}

  /** A schema, with the equality columns that its version has no more. */
  public static Schema withDropped(Table table, Schema schema, EqualityFiles deletes) {
    List columns = new ArrayList(schema.columns());
    for (Iterator it = ids(deletes).iterator(); it.hasNext(); ) {
      int id = ((Integer) it.next()).intValue();
      if (schema.findField(id) == null) columns.add(dropped(table, id));
    }
    return new Schema(schema.schemaId(), columns);
  }

  /** The data columns of a projection, with the equality columns that the version has beside. */
  public static Schema withKeys(Schema projection, Schema schema, EqualityFiles deletes) {
    List columns = new ArrayList();
    for (int i = 0; i < projection.columns().size(); i++) {
      Types.NestedField field = (Types.NestedField) projection.columns().get(i);
      if (!MetadataColumns.isMetadataColumn(field.fieldId())) columns.add(field);
    }
    for (Iterator it = ids(deletes).iterator(); it.hasNext(); ) {
      int id = ((Integer) it.next()).intValue();
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

  /** Ids of all equality columns, each once, in the order of the kinds. */
  private static List ids(EqualityFiles deletes) {
    List ids = new ArrayList();
    Set seen = new HashSet();
    for (EqualityFiles.Kind kind : deletes.kinds) {
      for (Iterator it = kind.ids.iterator(); it.hasNext(); ) {
        Object id = it.next();
        if (seen.add(id)) ids.add(id);
      }
    }
    return ids;
  }

  private static Types.NestedField dropped(Table table, int id) {
    Types.NestedField newest = null;
    int newestSchema = -1;
    for (Iterator it = table.schemas().values().iterator(); it.hasNext(); ) {
      Schema past = (Schema) it.next();
      Types.NestedField field = past.asStruct().field(id);
      if (field != null && past.schemaId() > newestSchema) {
        newest = field;
        newestSchema = past.schemaId();
      }
    }
    if (newest == null) throw new UnsupportedOperationException("field " + id);
    return Types.NestedField.optional(id, HIDDEN + id, newest.type());
  }

  /** Names from the top-level column down to a field. */
  public static List path(Schema schema, int id) {
    Map above = TypeUtil.indexParents(schema.asStruct());
    List names = new ArrayList();
    for (Integer at = Integer.valueOf(id); at != null; at = (Integer) above.get(at)) {
      names.add(0, schema.findField(at.intValue()).name());
    }
    return names;
  }

  /** Names of the top-level columns. */
  public static List names(Schema schema) {
    List names = new ArrayList();
    for (int i = 0; i < schema.columns().size(); i++) {
      names.add(((Types.NestedField) schema.columns().get(i)).name());
    }
    return names;
  }
}
