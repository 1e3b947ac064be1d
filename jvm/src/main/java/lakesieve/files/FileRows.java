package lakesieve.files;

import java.io.Serializable;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.function.ToLongFunction;

/**
 * The rows that a scan must read from some data files. All rows of other files are read.
 *
 * <p>A file is known by its path, its length and its modification time. So the rows of a file that
 * was rewritten in place since are all read.
 */
public final class FileRows implements Serializable {
  private static final long serialVersionUID = 1;
  // each split of a file reads the footer
  private static final long ROWS_OF_A_TASK = 1 << 20;

  /** The rows of one file. */
  private static final class Rows implements Serializable {
    private static final long serialVersionUID = 1;

    private final long length;
    private final long modified;
    private final long[] ranges;
    private final long records; // of the whole file; -1 where it is not known

    Rows(long length, long modified, long[] ranges, long records) {
      this.records = records;
      this.length = length;
      this.modified = modified;
      this.ranges = ranges;
    }

    /** Return the number of rows to read, or -1. */
    long count() {
      long[] all = {0, Long.MAX_VALUE};
      long[] file = records < 0 ? all : new long[] {0, records};
      long count = RowRanges.count(RowRanges.intersection(ranges, file));
      return count == Long.MAX_VALUE ? -1 : count;
    }

    boolean isOf(long length, long modified) {
      return this.length == length && this.modified == modified;
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof Rows that
          && that.isOf(length, modified)
          && Arrays.equals(ranges, that.ranges);
    }

    @Override
    public int hashCode() {
      return 31 * Arrays.hashCode(ranges) + Long.hashCode(31 * length + modified);
    }
  }

  private final Map<String, Rows> files = new HashMap<>(); // by normalized path

  /** True when all rows of every file are read. */
  public boolean isEmpty() {
    return files.isEmpty();
  }

  /**
   * Read only some rows of a file.
   *
   * @param path in any spelling, see {@link FilePaths}
   * @param length of the file, in bytes
   * @param modified the file's modification time, in milliseconds
   * @param ranges see {@link RowRanges}; null for all rows
   * @param records the number of all rows of the file; -1 where it is not known
   */
  public void put(String path, long length, long modified, long[] ranges, long records) {
    if (ranges == null) return;
    RowRanges.check(ranges);
    files.put(FilePaths.normal(path), new Rows(length, modified, ranges, records));
  }

  /** Return the rows to read of a file, or null for all of them. */
  public long[] ranges(String path, long length, long modified) {
    Rows rows = files.get(FilePaths.normal(path));
    return rows == null || !rows.isOf(length, modified) ? null : rows.ranges;
  }

  /** Return the rows to read of a file, without a check of its length and modification time. */
  public long[] ranges(String path) {
    Rows rows = files.get(FilePaths.normal(path));
    return rows == null ? null : rows.ranges;
  }

  /** Return true unless one task suffices for a file, because few of its rows are read. */
  public boolean needSplits(String path) {
    Rows rows = files.get(FilePaths.normal(path));
    long count = rows == null ? -1 : rows.count();
    return count < 0 || count > ROWS_OF_A_TASK;
  }

  /** Return true if any of these files is in a local file system. */
  public boolean anyIsLocal() {
    return files.keySet().stream().anyMatch(path -> path.startsWith("file:"));
  }

  /** Return the number of rows to read of these files; -1 where it is not known. */
  public long count() {
    return sum(Rows::count);
  }

  /** Return the number of all rows of these files; -1 where it is not known. */
  public long records() {
    return sum(rows -> rows.records);
  }

  private long sum(ToLongFunction<Rows> number) {
    long sum = 0;
    for (Rows rows : files.values()) {
      long own = number.applyAsLong(rows);
      if (own < 0) return -1;
      sum += own;
    }
    return sum;
  }

  /** Read no row that the other choice leaves out. */
  public void retain(FileRows other) {
    if (other == null) return;
    other.files.forEach(
        (path, rows) ->
            files.merge(
                path,
                rows,
                (mine, theirs) ->
                    mine.isOf(theirs.length, theirs.modified)
                        ? new Rows(
                            mine.length,
                            mine.modified,
                            RowRanges.intersection(mine.ranges, theirs.ranges),
                            Math.max(mine.records, theirs.records))
                        : mine));
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof FileRows that && files.equals(that.files);
  }

  @Override
  public int hashCode() {
    return files.hashCode();
  }

  @Override
  public String toString() {
    return "rows of " + files.size() + " files";
  }
}
