package lakesieve.iceberg;

import java.util.List;
import lakesieve.files.FileRows;
import lakesieve.files.IdentityMap;
import lakesieve.files.KeepSet;
import org.apache.iceberg.PartitionScanTask;
import org.apache.spark.sql.connector.read.Scan;

/** The rows that scans read of some of their files, by the scans' identity. */
final class ScanRows {
  private final IdentityMap<TaskRows.Choice> choices = new IdentityMap<>();

  /**
   * Restrict a scan to the wanted rows of its files. Rows that it leaves out already stay left out.
   *
   * @return the rows, or null where all rows of all files are read
   */
  synchronized FileRows restrict(Scan scan, List<? extends PartitionScanTask> kept, KeepSet keep)
      throws Exception {
    TaskRows.Choice choice = TaskRows.restrict(scan, kept, keep, of(scan));
    if (choice != null) choices.put(scan, choice);
    return of(scan);
  }

  /** Return the rows that a scan reads of some files, or null. */
  FileRows of(Scan scan) {
    TaskRows.Choice choice = choices.get(scan);
    return choice == null || choice.rows().isEmpty() ? null : choice.rows();
  }

  /** Return why a scan reads row groups of some files as a whole. */
  List<String> byGroup(Scan scan) {
    TaskRows.Choice choice = choices.get(scan);
    return choice == null ? List.of() : choice.byGroup();
  }

  /** Return why a scan reads all rows of files of which some rows are wanted. */
  List<String> problems(Scan scan) {
    TaskRows.Choice choice = choices.get(scan);
    return choice == null ? List.of() : choice.problems();
  }
}
