package lakesieve.deletes;

import java.util.List;
import lakesieve.iceberg.SparkScans;
import lakesieve.spark.Scala;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;

/**
 * What the scan of a query reads, as Iceberg has planned it. Python makes the joins from it.
 *
 * @param schema the schema of the version
 * @param projection the columns that the scan reads
 * @param tasks one for each data file, with the query's filters
 * @param output names of the columns that the scan gives to the query, in their order
 */
public record QueryScan(
    Table table,
    Schema schema,
    Schema projection,
    long snapshotId,
    List<FileScanTask> tasks,
    List<String> output) {

  /** What the scan of a leaf reads. */
  static QueryScan of(DataSourceV2ScanRelation leaf) throws Exception {
    Scan scan = leaf.scan();
    return new QueryScan(
        SparkScans.table(scan),
        SparkScans.schema(scan),
        SparkScans.projection(scan),
        SparkScans.snapshotId(scan),
        SparkScans.tasks(scan).stream().map(FileScanTask.class::cast).toList(),
        Scala.list(leaf.output()).stream().map(Attribute::name).toList());
  }

  /** Name of the table. */
  public String name() {
    return table.name();
  }

  /** Names of the metadata columns in the output. */
  public List<String> metadata() {
    return output.stream().filter(MetadataColumns::isMetadataColumn).toList();
  }
}
