package lakesieve.folders;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** How files are read, as one JSON document: the schema, and settings that change what is read. */
public final class SchemaDocument {
  private static final ObjectMapper JSON = new ObjectMapper();

  private SchemaDocument() {}

  /** Return the document of a leaf that reads files. */
  public static String of(LogicalPlan leaf) throws JsonProcessingException {
    var relation = FileScans.relation(leaf);
    return of(
        relation.sparkSession(),
        relation.schema().json(),
        relation.partitionSchema().fieldNames(),
        Map.of());
  }

  /**
   * Return the document of a table.
   *
   * @param schema in Spark's JSON
   * @param partitioning names of the partition columns
   * @param more entries that the table's format adds
   */
  public static String of(
      SparkSession spark, String schema, String[] partitioning, Map<String, Object> more)
      throws JsonProcessingException {
    var conf = spark.conf();
    Map<String, Object> document = new LinkedHashMap<>(more);
    document.put("case", conf.get("spark.sql.caseSensitive"));
    String modes =
        conf.get("spark.sql.parquet.datetimeRebaseModeInRead")
            + " "
            + conf.get("spark.sql.parquet.int96RebaseModeInRead");
    boolean isShifted = "true".equals(conf.get("spark.sql.parquet.int96TimestampConversion"));
    String zone = isShifted ? " " + conf.get("spark.sql.session.timeZone") : "";
    // in one case, the default of Spark 3.5 fails and that of Spark 4 reads another value;
    // otherwise both read the same
    document.put("times", modes.replace("EXCEPTION", "CORRECTED") + zone);
    document.put("partitioning", partitioning);
    document.put("schema", JSON.readTree(schema));
    return JSON.writeValueAsString(document);
  }
}
