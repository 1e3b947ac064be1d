package lakesieve.deletes;

import java.util.HashMap;
import java.util.Map;
import lakesieve.iceberg.ForwardingProxy;
import lakesieve.iceberg.SparkSource;
import lakesieve.spark.ClassicSessions;
import org.apache.iceberg.BatchScan;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableProperties;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;

/**
 * A frozen table that is read through a {@link ScanView}, as an ordinary relation of Iceberg's
 * Spark source.
 *
 * <p>So columns, filters and runtime filters are pushed down as for the table itself.
 *
 * @param name must be unique: Spark reuses exchanges between scans of equal names, snapshots and
 *     columns
 * @param schema the columns that Spark sees
 * @param scan the only scan of the table
 * @param spec the partition spec that the view has in place of the table's own specs; null for
 *     these
 */
record TableView(
    FrozenVersion version, String name, Schema schema, BatchScan scan, PartitionSpec spec) {

  /** The rows of the scan. */
  Dataset<Row> rows(SparkSession spark) {
    return ClassicSessions.rows(
        spark,
        DataSourceV2Relation.create(
            SparkSource.table(table()), scala.Option.empty(), scala.Option.empty()));
  }

  /** The table that Iceberg's Spark source sees. */
  Table table() {
    return ForwardingProxy.of(
        Table.class,
        version.table(),
        call ->
            switch (call.name()) {
              case "name", "toString" -> name;
              case "schema" -> schema;
              case "currentSnapshot" -> version.snapshot();
              case "newBatchScan" -> scan;
              case "properties" -> properties();
              case "spec" -> spec == null ? call.forward() : spec;
              case "specs" -> spec == null ? call.forward() : Map.of(spec.specId(), spec);
              default -> {
                // only the scan above may be read, and nothing may be written
                if (call.name().startsWith("new") || call.name().equals("refresh")) {
                  throw new UnsupportedOperationException(call.name() + " of " + name);
                }
                yield call.forward();
              }
            },
        HasTableOperations.class);
  }

  /** The scan has its snapshot already, so the session's WAP branch must not select another one. */
  private Map<String, String> properties() {
    Map<String, String> properties = new HashMap<>(version.table().properties());
    properties.remove(TableProperties.WRITE_AUDIT_PUBLISH_ENABLED);
    return properties;
  }
}
