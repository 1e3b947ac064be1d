package lakesieve.iceberg;

import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import lakesieve.files.FileRows;
import lakesieve.files.IdentitySet;
import lakesieve.files.KeepSet;
import org.apache.iceberg.PartitionScanTask;
import org.apache.spark.sql.connector.read.Scan;

/** The rows that scans read of some of their files, by the scans' identity. */
final class ScanRows {
  private final Map<IdentitySet.Ref, TaskRows.Choice> choices = new HashMap<>();
  private final ReferenceQueue<Object> collected = new ReferenceQueue<>();

  /**
   * Restrict a scan to the wanted rows of its files. Rows that it leaves out already stay left out.
   *
   * @return the rows, or null where all rows of all files are read
   */
  synchronized FileRows restrict(Scan scan, List<? extends PartitionScanTask> kept, KeepSet keep)
      throws Exception {
    TaskRows.Choice choice = TaskRows.restrict(scan, kept, keep, of(scan));
    for (Reference<?> gone = collected.poll(); gone != null; gone = collected.poll()) {
      choices.remove(gone);
    }
    if (choice != null) choices.put(new IdentitySet.Ref(scan, collected), choice);
    return of(scan);
  }

  /** Return the rows that a scan reads of some files, or null. */
  synchronized FileRows of(Scan scan) {
    TaskRows.Choice choice = choices.get(new IdentitySet.Ref(scan, null));
    return choice == null || choice.rows().isEmpty() ? null : choice.rows();
  }

  /** Return why a scan reads all rows of files of which some rows are wanted. */
  synchronized List<String> problems(Scan scan) {
    TaskRows.Choice choice = choices.get(new IdentitySet.Ref(scan, null));
    return choice == null ? List.of() : choice.problems();
  }
}
