package lakesieve.iceberg;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import lakesieve.files.FileRows;
import lakesieve.files.RowRanges;
import org.apache.hadoop.fs.Path;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.ScanTask;
import org.apache.iceberg.ScanTaskGroup;
import org.apache.spark.sql.connector.read.InputPartition;

/**
 * The parts of some data files that the tasks of a scan read. Tasks read other files as Iceberg
 * splits them.
 *
 * <p>Iceberg splits a file at its split offsets, where its row groups begin. So Iceberg's own
 * reader leaves out a row group where no task has this part of the file. A file of which few rows
 * are wanted is not split: each task would read its footer.
 */
final class WantedParts {
  /**
   * A row group by the footer of its file.
   *
   * @param start where it begins, in bytes
   * @param rows the number of its rows
   */
  record RowGroup(long start, long rows) {}

  // by the location of a file: its task, which is not split
  private final Map<String, FileScanTask> whole = new HashMap<>();
  // by the location of a file: the parts of its task that are read, one for each row group
  private final Map<String, List<FileScanTask>> parts = new HashMap<>();
  private final FileRows rows = new FileRows();
  // files that the table lists twice: other deletes may apply to each
  private final Set<String> repeated = new HashSet<>();

  /**
   * Create the choice without any file.
   *
   * @param tasks the tasks of all files that the scan reads
   */
  WantedParts(Collection<? extends ScanTask> tasks) {
    Set<String> locations = new HashSet<>();
    for (ScanTask task : tasks) {
      if (!(task instanceof FileScanTask own)) continue;
      String location = own.file().location();
      if (!locations.add(location)) repeated.add(location);
    }
  }

  /** True where Iceberg splits all files. */
  boolean isEmpty() {
    return whole.isEmpty() && parts.isEmpty();
  }

  /** Return the rows of the row groups that are read of some files. */
  FileRows rows() {
    return rows;
  }

  /** Return true if the task's file has several row groups, and Iceberg can read each one alone. */
  static boolean areSeveral(FileScanTask task) {
    DataFile file = task.file();
    return file.format() == FileFormat.PARQUET
        && file.keyMetadata() == null
        && file.splitOffsets() != null
        && file.splitOffsets().size() > 1
        && isWhole(task);
  }

  private static boolean isWhole(FileScanTask task) {
    return task.start() == 0 && task.length() == task.file().fileSizeInBytes();
  }

  /** Let one task read a file of which few rows are wanted. */
  void addWhole(FileScanTask task) {
    String location = task.file().location();
    if (isWhole(task) && !repeated.contains(location)) whole.put(location, task);
  }

  /**
   * Leave out the row groups of a file that have no wanted row.
   *
   * @param wanted see {@link RowRanges}
   * @param groups the row groups by the footer of the file
   * @return false where all row groups are read
   */
  boolean add(FileScanTask task, long[] wanted, List<RowGroup> groups) {
    String location = task.file().location();
    if (repeated.contains(location)) return false;
    List<FileScanTask> all = new ArrayList<>();
    task.split(1).forEach(all::add);
    if (all.size() != groups.size()) return false;
    List<FileScanTask> read = new ArrayList<>();
    long[] ranges = RowRanges.NONE;
    long first = 0;
    for (int at = 0; at < groups.size(); at++) {
      FileScanTask part = all.get(at);
      RowGroup group = groups.get(at);
      // the metadata of the table and the footer must agree on the place of each row group
      if (part.start() != group.start) return false;
      long end = first + group.rows;
      if (RowRanges.within(wanted, first, group.rows).length > 0) {
        read.add(part);
        ranges = RowRanges.union(ranges, new long[] {first, end});
      }
      first = end;
    }
    DataFile file = task.file();
    if (first != file.recordCount() || read.size() == all.size()) return false;
    parts.put(location, read);
    rows.put(new Path(location).toString(), file.fileSizeInBytes(), 0, ranges, file.recordCount());
    return true;
  }

  /**
   * Return the partitions without the parts of files that are not read.
   *
   * @param keepsEmpty whether to keep a partition without any task. Spark counts the partitions of
   *     some scans.
   */
  InputPartition[] of(InputPartition[] partitions, boolean keepsEmpty) {
    if (isEmpty()) return partitions;
    List<InputPartition> kept = new ArrayList<>();
    Set<String> read = new HashSet<>();
    for (InputPartition partition : partitions) {
      ScanTaskGroup<?> group = SparkPartitions.group(partition);
      if (group == null) {
        kept.add(partition);
        continue;
      }
      List<ScanTask> tasks = new ArrayList<>();
      for (ScanTask task : group.tasks()) tasks.addAll(of(task, read));
      if (tasks.equals(List.copyOf(group.tasks()))) {
        kept.add(partition);
      } else if (keepsEmpty || !tasks.isEmpty()) {
        kept.add(SparkPartitions.with(partition, tasks));
      }
    }
    return kept.toArray(InputPartition[]::new);
  }

  /**
   * Return the tasks that replace one of Iceberg's splits of a file.
   *
   * @param read locations of the files that have their only task already; this method adds to them
   */
  List<? extends ScanTask> of(ScanTask task, Set<String> read) {
    if (!(task instanceof FileScanTask own)) return List.of(task);
    String location = own.file().location();
    FileScanTask all = whole.get(location);
    if (all != null) return read.add(location) ? List.of(all) : List.of();
    List<FileScanTask> groups = parts.get(location);
    if (groups == null) return List.of(task);
    long end = own.start() + own.length();
    return groups.stream()
        .filter(part -> part.start() >= own.start() && part.start() < end)
        .toList();
  }

  /** Return true for the same row groups of the same files. */
  @Override
  public boolean equals(Object other) {
    return other instanceof WantedParts that && rows.equals(that.rows);
  }

  @Override
  public int hashCode() {
    return rows.hashCode();
  }
}
