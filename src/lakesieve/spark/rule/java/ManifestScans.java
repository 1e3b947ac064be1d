package lakesieve;

import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.iceberg.BatchScanAdapter;
import org.apache.iceberg.DataTableScan;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.Scan;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.io.CloseableIterator;

/**
 * Iceberg scans of very many files that are not planned yet: they are planned over the manifests that
 * list files to be read, as Iceberg plans them over all manifests, and no other manifest is read.
 *
 * <p>Iceberg's own scan does the planning, of a table whose snapshot has those manifests alone. So row
 * filters, delete files, row ids and metrics are as they are without.
 */
public final class ManifestScans {
  // fields of the scans of a session and of Iceberg's own
  private static final String SCAN = "scan";
  private static final String TASKS = "tasks";
  private static final String PLANNED = "org.apache.iceberg.spark.source.SparkPartitioningAwareScan";
  private static final String BASE = "org.apache.iceberg.BaseScan";
  private static final String CONTEXT = "org.apache.iceberg.TableScanContext";
  private static final String DISTRIBUTED = "org.apache.iceberg.SparkDistributedDataScan";

  private ManifestScans() {}

  /** Look up every private member that is needed; throws when one of them is missing. */
  public static void check() throws Exception {
    for (String name : Arrays.asList(SCAN, TASKS)) PrivateMembers.requireField(type(PLANNED), name);
    PrivateMembers.requireField(BatchScanAdapter.class, SCAN);
    for (String name : Arrays.asList("table", "schema", "context")) {
      PrivateMembers.requireField(type(BASE), name);
    }
    constructor();
  }

  /** True for a session's scan that Iceberg has not planned, and that can be planned here. */
  public static boolean isOpen(Object scan) {
    try {
      if (PrivateMembers.field(scan, type(PLANNED), TASKS) != null) return false;
      return inner(scan) != null && snapshot(inner(scan)) != null;
    } catch (Exception e) {
      return false;
    }
  }

  /** Number of live data files of the snapshot that a scan reads, by its manifests. */
  public static int files(Object scan) throws Exception {
    long files = 0;
    Scan inner = inner(scan);
    for (ManifestFile each : snapshot(inner).dataManifests(table(inner).io())) {
      ManifestFile manifest = (ManifestFile) each;
      files += manifest.addedFilesCount() + manifest.existingFilesCount();
    }
    return (int) Math.min(files, Integer.MAX_VALUE);
  }

  /** The tasks of an open scan for files that are to be read, and some others. */
  public static List<Object> planned(Object scan, KeepSet keep) throws Exception {
    Scan inner = inner(scan);
    Table table = table(inner);
    Snapshot snapshot = snapshot(inner);
    List<ManifestFile> manifests = snapshot.dataManifests(table.io());
    List<FileGroup> groups = KnownManifests.of(table, manifests, keep.secret(), PythonPlanner.roomOfManifests());
    List<ManifestFile> chosen = new ArrayList<>();
    for (int i = 0; i < manifests.size(); i++) {
      if (keep.mayKeep((FileGroup) groups.get(i))) chosen.add(manifests.get(i));
    }
    Object[] arguments = {
      proxy(Table.class, new ChosenTable(table, snapshot, chosen)),
      PrivateMembers.field(inner, type(BASE), "schema"),
      PrivateMembers.field(inner, type(BASE), "context"),
    };
    List<Object> tasks = new ArrayList<>();
    CloseableIterable<FileScanTask> planned =
        ((DataTableScan) constructor().newInstance(arguments)).planFiles();
    try {
      CloseableIterator<FileScanTask> each = planned.iterator();
      while (each.hasNext()) tasks.add(each.next());
    } finally {
      planned.close();
    }
    return tasks;
  }

  /** Iceberg's own scan in that of a session; null for one that is not of a snapshot's data files. */
  private static Scan inner(Object scan) throws Exception {
    Object inner = PrivateMembers.field(scan, type(PLANNED), SCAN);
    if (inner instanceof BatchScanAdapter) {
      inner = PrivateMembers.field(inner, BatchScanAdapter.class, SCAN);
    }
    if (inner == null) return null;
    boolean known =
        inner.getClass() == DataTableScan.class || inner.getClass().getName().equals(DISTRIBUTED);
    return known ? (Scan) inner : null;
  }

  private static Table table(Scan inner) throws Exception {
    return (Table) PrivateMembers.field(inner, type(BASE), "table");
  }

  private static Snapshot snapshot(Scan inner) throws Exception {
    return (Snapshot) PrivateMembers.get(inner, "snapshot");
  }

  private static Class<?> type(String name) throws Exception {
    return Class.forName(name, false, Table.class.getClassLoader());
  }

  private static Constructor<?> constructor() throws Exception {
    Constructor<?> made =
        DataTableScan.class.getDeclaredConstructor(Table.class, Schema.class, type(CONTEXT));
    made.setAccessible(true);
    return made;
  }

  private static Object proxy(Class<?> type, InvocationHandler handler) {
    return Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler);
  }

  private static Object invoke(Object of, Method method, Object[] arguments) throws Throwable {
    try {
      return method.invoke(of, arguments);
    } catch (InvocationTargetException e) {
      throw e.getCause();
    }
  }

  /** A table of which one snapshot has some of its manifests alone. */
  private static final class ChosenTable implements InvocationHandler {
    private final Table table;
    private final long id;
    private final Object snapshot;

    ChosenTable(Table table, Snapshot snapshot, List<ManifestFile> chosen) {
      this.table = table;
      this.id = snapshot.snapshotId();
      this.snapshot = proxy(Snapshot.class, new ChosenManifests(snapshot, chosen));
    }

    @Override
    public Object invoke(Object self, Method method, Object[] arguments) throws Throwable {
      Object found = ManifestScans.invoke(this.table, method, arguments);
      boolean isChosen = found instanceof Snapshot && ((Snapshot) found).snapshotId() == this.id;
      return isChosen ? this.snapshot : found;
    }
  }

  /** A snapshot with some of its manifests of data files. */
  private static final class ChosenManifests implements InvocationHandler {
    private final Snapshot snapshot;
    private final List<ManifestFile> chosen;

    ChosenManifests(Snapshot snapshot, List<ManifestFile> chosen) {
      this.snapshot = snapshot;
      this.chosen = chosen;
    }

    @Override
    public Object invoke(Object self, Method method, Object[] arguments) throws Throwable {
      if (method.getName().equals("dataManifests")) return this.chosen;
      return ManifestScans.invoke(this.snapshot, method, arguments);
    }
  }
}
