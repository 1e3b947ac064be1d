package lakesieve.deletes;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Collections;
import org.apache.iceberg.BatchScan;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.spark.source.SparkTable;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;

/**
 * A frozen table read through a {@link ScanView}, as an ordinary relation of Iceberg's Spark source.
 *
 * <p>Column pruning, filters and runtime filters are pushed to it as to the table itself. Its name is
 * its own: Spark reuses exchanges between scans of equal names, snapshots and columns.
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
   * Make the relation.
   *
   * @param spec the only partitioning it shows, or null for the table's own
   */
  public static Dataset relation(
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
                new Class[] {Table.class, HasTableOperations.class},
                new TableView(table, name, schema, snapshot, scan, spec));
    return Dataset.ofRows(
        spark,
        DataSourceV2Relation.create(
            new SparkTable(view), scala.Option.empty(), scala.Option.empty()));
  }

  public Object invoke(Object proxy, Method method, Object[] args) throws Throwable {
    String called = method.getName();
    if (called.equals("equals")) return Boolean.valueOf(proxy == args[0]);
    if (called.equals("hashCode")) return Integer.valueOf(System.identityHashCode(proxy));
    if (called.equals("name") || called.equals("toString")) return name;
    if (called.equals("schema")) return schema;
    if (called.equals("currentSnapshot")) return snapshot;
    if (called.equals("newBatchScan")) return scan;
    if (called.equals("spec") && spec != null) return spec;
    if (called.equals("specs") && spec != null) {
      return Collections.singletonMap(Integer.valueOf(spec.specId()), spec);
    }
    // nothing but the scan above may be read, and nothing written
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
