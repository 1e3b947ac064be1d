package lakesieve.deletes;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import org.apache.iceberg.BatchScan;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.spark.source.SparkTable;
import org.apache.spark.sql.Row;
import ${sql}.Dataset;
import ${sql}.SparkSession;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;

/**
 * A frozen table read through a {@link ScanView}, as an ordinary relation of Iceberg's Spark source.
 *
 * <p>Column pruning, filters and runtime filters are pushed down as for the table itself. It needs a
 * unique name: Spark reuses exchanges between scans of equal names, snapshots and columns.
 */
public final class TableView implements InvocationHandler {
  private final Table table;
  private final String name;
  private final Schema schema;
  private final Snapshot snapshot;
  private final BatchScan scan;
  private final PartitionSpec spec;

  private TableView(
      Table table, String name, Schema schema, Snapshot snapshot, BatchScan scan, PartitionSpec spec) {
    this.table = table;
    this.name = name;
    this.schema = schema;
    this.snapshot = snapshot;
    this.scan = scan;
    this.spec = spec;
  }

  /**
   * The relation of a scan.
   *
   * @param spec the only partition spec that it has, or null for those of the table
   */
  public static Dataset<Row> relation(
      SparkSession spark,
      Table table,
      String name,
      Schema schema,
      Snapshot snapshot,
      BatchScan scan,
      PartitionSpec spec) {
    Table view =
        (Table)
            Proxy.newProxyInstance(
                Table.class.getClassLoader(),
                new Class<?>[] {Table.class, HasTableOperations.class},
                new TableView(table, name, schema, snapshot, scan, spec));
    return Dataset.ofRows(
        spark,
        DataSourceV2Relation.create(
            new SparkTable(view${lazily}), scala.Option.empty(), scala.Option.empty()));
  }

  /** The scan has its snapshot already: the session's WAP branch must not select another one. */
  private Map<String, String> propertiesOfView() {
    Map<String, String> properties = new HashMap<>(table.properties());
    properties.remove(TableProperties.WRITE_AUDIT_PUBLISH_ENABLED);
    return properties;
  }

  /** Answer a call of the table's method. */
  @Override
  public Object invoke(Object proxy, Method method, Object[] args) throws Throwable {
    String called = method.getName();
    switch (called) {
      case "equals":
        return proxy == args[0];
      case "hashCode":
        return System.identityHashCode(proxy);
      case "name":
      case "toString":
        return name;
      case "schema":
        return schema;
      case "currentSnapshot":
        return snapshot;
      case "newBatchScan":
        return scan;
      case "properties":
        return propertiesOfView();
      case "spec":
        if (spec != null) return spec;
        break;
      case "specs":
        if (spec != null) return Collections.singletonMap(spec.specId(), spec);
        break;
      default:
        break;
    }
    // only the scan above may be read, and nothing may be written
    if (called.startsWith("new") || called.equals("refresh")) {
      throw new UnsupportedOperationException(called + " of " + name);
    }
    try {
      return method.invoke(table, args);
    } catch (InvocationTargetException e) {
      throw e.getCause();
    }
  }
}
