package lakesieve.iceberg;

import java.lang.reflect.Constructor;
import java.util.ArrayList;
import java.util.List;
import lakesieve.files.FileGroup;
import lakesieve.files.KeepSet;
import lakesieve.rule.PythonPlanner;
import lakesieve.spark.PrivateMembers;
import org.apache.iceberg.BatchScanAdapter;
import org.apache.iceberg.DataTableScan;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotScan;
import org.apache.iceberg.Table;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.spark.sql.connector.read.Scan;

/**
 * Plans scans of very many files, which Iceberg has not planned yet, from the manifests that list a
 * file to read. No other manifest is opened.
 *
 * <p>Iceberg's own scan does the planning, for a table whose snapshot has only these manifests. So
 * row filters, delete files, row ids and metrics are the same as with all manifests.
 *
 * <p>Private members of Iceberg's core scans are read by name. Iceberg's builders can only make a
 * new scan of a table, but the filters, columns and options of the existing scan must stay.
 */
public final class ManifestScans {
  private static final String BASE = "org.apache.iceberg.BaseScan";
  private static final String CONTEXT = "org.apache.iceberg.TableScanContext";
  private static final String DISTRIBUTED = "org.apache.iceberg.SparkDistributedDataScan";

  private ManifestScans() {}

  /** Look up every private member of Iceberg that this class uses; throws when one is missing. */
  static void check() throws Exception {
    PrivateMembers.requireField(BatchScanAdapter.class, "scan");
    for (String name : List.of("schema", "context")) PrivateMembers.requireField(type(BASE), name);
    constructor();
  }

  /** True for a scan of Spark that Iceberg has not planned, and that can be planned here. */
  static boolean isOpen(Scan scan) {
    try {
      if (SparkScans.isPlanned(scan)) return false;
      SnapshotScan<?, ?, ?> inner = inner(scan);
      return inner != null && inner.snapshot() != null;
    } catch (Exception e) {
      return false;
    }
  }

  /** Number of live data files of the snapshot that a scan reads, by its manifests. */
  static int files(Scan scan) throws Exception {
    SnapshotScan<?, ?, ?> inner = inner(scan);
    long files = 0;
    for (ManifestFile manifest : inner.snapshot().dataManifests(inner.table().io())) {
      files += manifest.addedFilesCount() + manifest.existingFilesCount();
    }
    return (int) Math.min(files, Integer.MAX_VALUE);
  }

  /** The tasks of an open scan for files that are to be read, and possibly for some others. */
  static List<FileScanTask> planned(Scan scan, KeepSet keep) throws Exception {
    SnapshotScan<?, ?, ?> inner = inner(scan);
    Table table = inner.table();
    Snapshot snapshot = inner.snapshot();
    List<ManifestFile> manifests = snapshot.dataManifests(table.io());
    List<FileGroup> groups =
        KnownManifests.of(table, manifests, keep.secret(), PythonPlanner.roomOfManifests());
    List<ManifestFile> chosen = new ArrayList<>();
    for (int i = 0; i < manifests.size(); i++) {
      if (keep.mayKeep(groups.get(i))) chosen.add(manifests.get(i));
    }
    DataTableScan narrow =
        constructor()
            .newInstance(
                withManifests(table, snapshot, chosen),
                PrivateMembers.field(inner, type(BASE), "schema"),
                PrivateMembers.field(inner, type(BASE), "context"));
    List<FileScanTask> tasks = new ArrayList<>();
    try (CloseableIterable<FileScanTask> planned = narrow.planFiles()) {
      planned.forEach(tasks::add);
    }
    return tasks;
  }

  /**
   * The scan of Iceberg's core library that a scan of Spark plans with; null for one that reads
   * anything but the data files of a snapshot.
   */
  private static SnapshotScan<?, ?, ?> inner(Scan scan) throws Exception {
    Object inner = SparkScans.inner(scan);
    if (inner instanceof BatchScanAdapter) {
      inner = PrivateMembers.field(inner, BatchScanAdapter.class, "scan");
    }
    // subclasses of these, such as scans of metadata tables, plan in other ways
    boolean known =
        inner instanceof SnapshotScan
            && (inner.getClass() == DataTableScan.class
                || inner.getClass().getName().equals(DISTRIBUTED));
    return known ? (SnapshotScan<?, ?, ?>) inner : null;
  }

  private static Class<?> type(String name) throws ClassNotFoundException {
    return Class.forName(name, false, Table.class.getClassLoader());
  }

  private static Constructor<DataTableScan> constructor() throws Exception {
    Constructor<DataTableScan> made =
        DataTableScan.class.getDeclaredConstructor(Table.class, Schema.class, type(CONTEXT));
    made.setAccessible(true);
    return made;
  }

  /** A table whose snapshot has only the chosen manifests of data files. */
  private static Table withManifests(Table table, Snapshot snapshot, List<ManifestFile> chosen) {
    Snapshot narrow =
        ForwardingProxy.of(
            Snapshot.class,
            snapshot,
            call -> call.name().equals("dataManifests") ? chosen : call.forward());
    return ForwardingProxy.of(
        Table.class,
        table,
        call -> {
          Object answer = call.forward();
          boolean isChosen =
              answer instanceof Snapshot other && other.snapshotId() == snapshot.snapshotId();
          return isChosen ? narrow : answer;
        });
  }
}
