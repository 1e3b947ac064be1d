package lakesieve.deletes;

import org.apache.iceberg.BaseTable;
import org.apache.iceberg.BatchScan;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.StaticTableOperations;
import org.apache.iceberg.Table;
import org.apache.iceberg.util.SnapshotUtil;

/**
 * One version of a table whose metadata no longer changes, whatever other writers commit.
 *
 * @param branch the branch that ends in the version; null for main and for other snapshots
 * @param snapshotId id of a snapshot that is not the branch head; null for a branch head
 * @param snapshot null for a table without data
 */
record FrozenVersion(
    BaseTable table, String branch, Long snapshotId, Snapshot snapshot, Schema schema) {

  /**
   * A version by its name.
   *
   * @param reference the name of a branch or tag, any other text if a snapshot is given, or null
   * @param referenceId id of the snapshot that the reference means, or null for the current one
   */
  static FrozenVersion of(Table loaded, String reference, String referenceId) {
    BaseTable table = frozen(loaded);
    if (reference == null) {
      return new FrozenVersion(table, null, null, table.currentSnapshot(), table.schema());
    }
    SnapshotRef ref = table.refs().get(reference);
    if (ref != null && ref.isBranch()) {
      Snapshot end = table.snapshot(reference);
      return new FrozenVersion(table, reference, null, end, table.schema());
    }
    long id = Long.parseLong(referenceId);
    Schema schema = SnapshotUtil.schemaFor(table, id);
    return new FrozenVersion(table, null, id, table.snapshot(id), schema);
  }

  /** The version that the scan of a query reads. */
  static FrozenVersion of(QueryScan scan) {
    BaseTable table = frozen(scan.table());
    Snapshot snapshot = table.snapshot(scan.snapshotId());
    if (snapshot == null) throw new IllegalStateException("the snapshot has expired");
    return new FrozenVersion(table, null, scan.snapshotId(), snapshot, scan.schema());
  }

  private static BaseTable frozen(Table loaded) {
    if (!(loaded instanceof HasTableOperations table)) {
      throw new UnsupportedOperationException("metadata table");
    }
    var operations =
        new StaticTableOperations(
            table.operations().current(), loaded.io(), loaded.locationProvider());
    return new BaseTable(operations, loaded.name());
  }

  /** A scan of the version, without filters. */
  BatchScan scan() {
    BatchScan scan = table.newBatchScan();
    if (branch != null) return scan.useRef(branch);
    return snapshotId == null ? scan : scan.useSnapshot(snapshotId);
  }
}
