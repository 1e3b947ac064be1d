package lakesieve;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.iceberg.PartitionField;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SchemaParser;
import org.apache.iceberg.Table;

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
