package lakesieve;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.iceberg.PartitionField;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.PartitionSpecParser;
import org.apache.iceberg.Partitioning;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SchemaParser;
import org.apache.iceberg.Table;
import org.apache.iceberg.types.Types;

/** The schema of an Iceberg table, with all that decides which values its fields have. */
public final class IcebergFields {
  private static final String MAPPING = "schema.name-mapping.default";
  private static final ObjectMapper JSON = new ObjectMapper();

  private IcebergFields() {}

  /**
   * A schema as Iceberg writes it to JSON.
   *
   * <p>If the table has a name mapping, for files without field ids, there are two more entries: the
   * mapping, and the ids of the partition columns, which such files may lack.
   */
  public static String document(Table table, Schema schema) throws Exception {
    String json = SchemaParser.toJson(schema);
    Object mapping = table.properties().get(MAPPING);
    if (mapping == null) return json;
    Map<String, Object> document = (Map<String, Object>) JSON.readValue(json, Map.class);
    document.put("name-mapping", mapping);
    document.put("partitioning", identitySources(table));
    return JSON.writeValueAsString(document);
  }

  /**
   * The partition specs of a table as JSON: the fields of each by its id, as Iceberg writes them, and
   * the names that the column {@code partition} of metadata tables has for them, by field id.
   */
  public static String partitioning(Table table) throws Exception {
    Map<String, Object> specs = new LinkedHashMap<>();
    for (Map.Entry<Integer, PartitionSpec> entry : table.specs().entrySet()) {
      String json = PartitionSpecParser.toJson((PartitionSpec) entry.getValue());
      specs.put(entry.getKey().toString(), ((Map) JSON.readValue(json, Map.class)).get("fields"));
    }
    Map<String, Object> names = new LinkedHashMap<>();
    for (Types.NestedField field : Partitioning.partitionType(table).fields()) {
      names.put(String.valueOf(field.fieldId()), field.name());
    }
    Map<String, Object> document = new LinkedHashMap<>();
    document.put("specs", specs);
    document.put("names", names);
    return JSON.writeValueAsString(document);
  }

  /** Ids of the source fields of identity partitions in any of the table's specs. */
  private static Set<Integer> identitySources(Table table) {
    Set<Integer> ids = new TreeSet<>();
    for (PartitionSpec spec : table.specs().values()) {
      for (PartitionField field : spec.fields()) {
        if (field.transform().isIdentity()) ids.add(field.sourceId());
      }
    }
    return ids;
  }
}
