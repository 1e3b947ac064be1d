package lakesieve;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.Iterator;
import java.util.Map;
import java.util.TreeSet;
import org.apache.iceberg.PartitionField;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SchemaParser;
import org.apache.iceberg.Table;

/** What a reader of an Iceberg table takes for the values of a field. */
public final class IcebergFields {
  private static final String MAPPING = "schema.name-mapping.default";
  private static final ObjectMapper JSON = new ObjectMapper();

  private IcebergFields() {}

  /**
   * A schema as Iceberg writes it. Where files without field ids are read by their names, it has two
   * more entries: how they are, and which fields are partition columns, which such files may lack.
   */
  public static String document(Table table, Schema schema) throws Exception {
    String json = SchemaParser.toJson(schema);
    Object mapping = table.properties().get(MAPPING);
    if (mapping == null) return json;
    Map m = (Map) JSON.readValue(json, Map.class);
    m.put("name-mapping", mapping);
    m.put("partitioning", identitySources(table));
    return JSON.writeValueAsString(m);
  }

  /** Ids of the fields whose values are those of partitions, in any of the table's specs. */
  private static TreeSet identitySources(Table table) {
    TreeSet ids = new TreeSet();
    for (Iterator specs = table.specs().values().iterator(); specs.hasNext(); ) {
      for (Iterator it = ((PartitionSpec) specs.next()).fields().iterator(); it.hasNext(); ) {
        PartitionField field = (PartitionField) it.next();
        if (field.transform().isIdentity()) ids.add(Integer.valueOf(field.sourceId()));
      }
    }
    return ids;
  }
}
