package lakesieve.files;

import java.util.Arrays;

/**
 * Arithmetic of sorted, disjoint, half-open ranges of row numbers of one data file.
 *
 * <p>Ranges are an array of pairs: the first row, and the row after the last. {@code
 * Long.MAX_VALUE} is the end of the file. Null stands for all rows of the file.
 */
public final class RowRanges {
  /** No rows. */
  public static final long[] NONE = new long[0];

  private RowRanges() {}

  /** Return the rows that both have. */
  public static long[] intersection(long[] one, long[] other) {
    if (one == null) return other;
    if (other == null) return one;
    long[] both = new long[one.length + other.length];
    int size = 0;
    int i = 0;
    int j = 0;
    while (i < one.length && j < other.length) {
      long start = Math.max(one[i], other[j]);
      long end = Math.min(one[i + 1], other[j + 1]);
      if (start < end) {
        both[size++] = start;
        both[size++] = end;
      }
      if (one[i + 1] < other[j + 1]) {
        i += 2;
      } else {
        j += 2;
      }
    }
    return Arrays.copyOf(both, size);
  }

  /** Return the rows that one of both has. */
  public static long[] union(long[] one, long[] other) {
    if (one == null || other == null) return null;
    long[] either = new long[one.length + other.length];
    int size = 0;
    int i = 0;
    int j = 0;
    while (i < one.length || j < other.length) {
      boolean isOfOne = j == other.length || (i < one.length && one[i] <= other[j]);
      long start = isOfOne ? one[i] : other[j];
      long end = isOfOne ? one[i + 1] : other[j + 1];
      if (isOfOne) {
        i += 2;
      } else {
        j += 2;
      }
      if (size > 0 && start <= either[size - 1]) {
        either[size - 1] = Math.max(either[size - 1], end);
      } else {
        either[size++] = start;
        either[size++] = end;
      }
    }
    return Arrays.copyOf(either, size);
  }

  /**
   * Return the part of ranges that lies in a row group, counted from its first row.
   *
   * @param first the number of the row group's first row in the file
   * @param rows the number of its rows
   */
  public static long[] within(long[] ranges, long first, long rows) {
    long[] within = intersection(ranges, new long[] {first, first + rows});
    for (int at = 0; at < within.length; at++) within[at] -= first;
    return within;
  }

  /** Return the number of rows; {@code Long.MAX_VALUE} if the ranges reach the end of the file. */
  public static long count(long[] ranges) {
    if (ranges == null) return Long.MAX_VALUE;
    long count = 0;
    for (int at = 0; at < ranges.length; at += 2) {
      if (ranges[at + 1] == Long.MAX_VALUE) return Long.MAX_VALUE;
      count += ranges[at + 1] - ranges[at];
    }
    return count;
  }

  /** Throw if an array is not sorted, disjoint ranges of row numbers. */
  public static void check(long[] ranges) {
    long end = -1;
    for (int at = 0; at < ranges.length; at += 2) {
      // ranges of blocks may touch one another
      if (ranges[at] < Math.max(end, 0) || ranges[at + 1] <= ranges[at]) {
        throw new IllegalArgumentException("row ranges out of order");
      }
      end = ranges[at + 1];
    }
  }
}
