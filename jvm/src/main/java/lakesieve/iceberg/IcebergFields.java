package lakesieve.iceberg;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SchemaParser;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableProperties;

/** The schema of an Iceberg table, with everything that decides which values its fields have. */
public final class IcebergFields {
  private static final ObjectMapper JSON = new ObjectMapper();

  private IcebergFields() {}

  /**
   * A schema as Iceberg writes it to JSON.
   *
   * <p>If the table has a name mapping, for files without field ids, there are two more entries:
   * the mapping, and the ids of the partition columns, which such files may lack.
   */
  public static String document(Table table, Schema schema) throws JsonProcessingException {
    String json = SchemaParser.toJson(schema);
    String mapping = table.properties().get(TableProperties.DEFAULT_NAME_MAPPING);
    if (mapping == null) return json;
    ObjectNode document = (ObjectNode) JSON.readTree(json);
    document.put("name-mapping", mapping);
    addIdentitySources(table, document.putArray("partitioning"));
    return JSON.writeValueAsString(document);
  }

  /** Add the ids of the source fields of identity partitions in any of the table's specs. */
  private static void addIdentitySources(Table table, ArrayNode ids) {
    table.specs().values().stream()
        .flatMap(spec -> spec.fields().stream())
        .filter(field -> field.transform().isIdentity())
        .mapToInt(field -> field.sourceId())
        .distinct()
        .sorted()
        .forEach(ids::add);
  }
}
