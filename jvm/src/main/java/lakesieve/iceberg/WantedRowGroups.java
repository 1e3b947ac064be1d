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
 * The row groups that Iceberg's own reader reads of some data files. It reads all row groups of
 * other files.
 *
 * <p>Iceberg splits a file at its split offsets, where its row groups begin. So a row group is left
 * out by leaving out its part of the file's task.
 */
final class WantedRowGroups {
  /**
   * A row group by the footer of its file.
   *
   * @param start where it begins, in bytes
   * @param rows the number of its rows
   */
  record RowGroup(long start, long rows) {}

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
  WantedRowGroups(Collection<? extends ScanTask> tasks) {
    Set<String> locations = new HashSet<>();
    for (ScanTask task : tasks) {
      if (!(task instanceof FileScanTask own)) continue;
      String location = own.file().location();
      if (!locations.add(location)) repeated.add(location);
    }
  }

  /** True where all row groups of every file are read. */
  boolean isEmpty() {
    return parts.isEmpty();
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
        && task.start() == 0
        && task.length() == file.fileSizeInBytes();
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

  /** Return the partitions without the parts of files that are not read. */
  InputPartition[] of(InputPartition[] partitions) {
    if (isEmpty()) return partitions;
    InputPartition[] kept = partitions.clone();
    for (int at = 0; at < kept.length; at++) {
      ScanTaskGroup<?> group = SparkPartitions.group(kept[at]);
      if (group == null) continue;
      List<ScanTask> tasks = new ArrayList<>();
      for (ScanTask task : group.tasks()) addParts(task, tasks);
      // a partition stays even if nothing of it is read: others may count partitions
      kept[at] = SparkPartitions.with(kept[at], tasks);
    }
    return kept;
  }

  private void addParts(ScanTask task, List<ScanTask> tasks) {
    FileScanTask own = task instanceof FileScanTask ofFile ? ofFile : null;
    List<FileScanTask> read = own == null ? null : parts.get(own.file().location());
    if (read == null) {
      tasks.add(task);
      return;
    }
    long end = own.start() + own.length();
    for (FileScanTask part : read) {
      if (part.start() >= own.start() && part.start() < end) tasks.add(part);
    }
  }

  /** Return true for the same row groups of the same files. */
  @Override
  public boolean equals(Object other) {
    return other instanceof WantedRowGroups that && rows.equals(that.rows);
  }

  @Override
  public int hashCode() {
    return rows.hashCode();
  }
}
