package lakesieve.iceberg;

import java.lang.reflect.Field;
import java.util.List;
import lakesieve.spark.PrivateMembers;
import org.apache.iceberg.PartitionScanTask;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;
import org.apache.spark.sql.connector.read.Scan;

/**
 * The scans that Iceberg's Spark source makes, and all of their private members that are used here.
 *
 * <p>Iceberg offers no public way to read or replace the planned tasks of a scan: the classes of
 * the scans are package-private and most of their methods are protected. So they are found by name,
 * in this class alone, and {@link #check} looks up every one of them.
 */
public final class SparkScans {
  private static final String PACKAGE = "org.apache.iceberg.spark.source.";
  private static final String BATCH = PACKAGE + "SparkBatchQueryScan";
  private static final String COPY_ON_WRITE = PACKAGE + "SparkCopyOnWriteScan";
  // reads the rows that were appended since a snapshot; from Iceberg 1.12 on
  private static final String APPENDED = PACKAGE + "SparkIncrementalAppendScan";
  private static final List<String> SCANS = List.of(BATCH, COPY_ON_WRITE, APPENDED);
  // the superclass that does the planning
  private static final String PLANNING = PACKAGE + "SparkPartitioningAwareScan";

  private static final String TABLE = "table";
  private static final String SCHEMA = "schema";
  private static final String SNAPSHOT = "snapshotId";
  private static final String RESET_TASKS = "resetTasks";
  // a method that plans, and the field behind it
  private static final String TASKS = "tasks";
  private static final String INNER = "scan";
  // runtimeFilters until 1.10, runtimeFilterExpressions since
  private static final String RUNTIME_FILTERS = "runtimeFilter";

  private SparkScans() {}

  /** Look up every private member; throws when one of them is missing. */
  public static void check() throws ClassNotFoundException {
    for (String field : List.of(INNER, TASKS)) {
      PrivateMembers.requireField(type(PLANNING), field);
    }
    for (String name : SCANS) {
      Class<?> type;
      try {
        type = type(name);
      } catch (ClassNotFoundException e) {
        if (name.equals(APPENDED)) continue;
        throw e;
      }
      for (String method : List.of(TABLE, TASKS, SparkSource.PROJECTION)) {
        PrivateMembers.requireMethod(type, method);
      }
      PrivateMembers.requireMethod(type, RESET_TASKS, List.class);
      if (!name.equals(APPENDED)) PrivateMembers.requireMethod(type, SNAPSHOT);
      if (!name.equals(COPY_ON_WRITE)) PrivateMembers.requireFieldLike(type, RUNTIME_FILTERS);
    }
  }

  /** True for a scan of Iceberg's whose tasks can be replaced. */
  public static boolean isKnown(Scan scan) {
    return SCANS.contains(scan.getClass().getName());
  }

  /** True for the scan of a query. */
  public static boolean isBatch(Scan scan) {
    return scan.getClass().getName().equals(BATCH);
  }

  /** True for the scan of a command that replaces the files that it reads. */
  public static boolean isCopyOnWrite(Scan scan) {
    return scan.getClass().getName().equals(COPY_ON_WRITE);
  }

  /** True for a scan of the rows that were appended since a snapshot. */
  public static boolean isAppended(Scan scan) {
    return scan.getClass().getName().equals(APPENDED);
  }

  /** The table that a scan reads. */
  public static Table table(Scan scan) throws Exception {
    return (Table) PrivateMembers.get(scan, TABLE);
  }

  /** The schema of the version that a scan reads. */
  public static Schema schema(Scan scan) throws Exception {
    return (Schema) PrivateMembers.get(scan, SCHEMA);
  }

  /** The columns that a scan reads. */
  public static Schema projection(Scan scan) throws Exception {
    return (Schema) PrivateMembers.get(scan, SparkSource.PROJECTION);
  }

  /** The id of the snapshot that a scan reads, which is not one of appended rows; may be null. */
  public static Long snapshotId(Scan scan) throws Exception {
    return (Long) PrivateMembers.get(scan, SNAPSHOT);
  }

  /** The tasks of a scan, one for each data file; Iceberg plans them now unless it has already. */
  @SuppressWarnings("unchecked") // the method of a class that cannot be named here
  public static List<PartitionScanTask> tasks(Scan scan) throws Exception {
    return (List<PartitionScanTask>) PrivateMembers.get(scan, TASKS);
  }

  /** Replace the tasks of a scan. */
  public static void resetTasks(Scan scan, List<? extends PartitionScanTask> tasks)
      throws Exception {
    PrivateMembers.call(scan, scan.getClass(), RESET_TASKS, new Class<?>[] {List.class}, tasks);
  }

  /** True for a scan that Iceberg has planned. */
  static boolean isPlanned(Scan scan) throws ClassNotFoundException {
    return PrivateMembers.field(scan, type(PLANNING), TASKS) != null;
  }

  /** The scan of Iceberg's core library that plans a scan of Spark; null for an empty one. */
  static Object inner(Scan scan) throws ClassNotFoundException {
    return PrivateMembers.field(scan, type(PLANNING), INNER);
  }

  /**
   * Make a scan unequal to scans without the mark, which EXPLAIN shows.
   *
   * <p>Iceberg compares scans by the filters that they got at run time, among others.
   */
  static void mark(Scan scan, String mark) throws IllegalAccessException {
    Field filters = PrivateMembers.requireFieldLike(scan.getClass(), RUNTIME_FILTERS);
    @SuppressWarnings("unchecked") // the field of a class that cannot be named here
    List<Expression> expressions = (List<Expression>) filters.get(scan);
    expressions.add(Expressions.equal("lakesieve", mark));
  }

  private static Class<?> type(String name) throws ClassNotFoundException {
    return Class.forName(name, false, Table.class.getClassLoader());
  }
}
