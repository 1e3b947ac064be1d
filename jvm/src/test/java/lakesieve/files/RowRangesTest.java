package lakesieve.files;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.BitSet;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Arithmetic of row ranges, beside sets of rows. */
class RowRangesTest {
  private static final int ROWS = 50;

  private final Random drawn = new Random(8);

  private static BitSet rows(long[] ranges) {
    BitSet rows = new BitSet();
    if (ranges == null) rows.set(0, ROWS);
    for (int at = 0; ranges != null && at < ranges.length; at += 2) {
      rows.set((int) ranges[at], (int) Math.min(ROWS, ranges[at + 1]));
    }
    return rows;
  }

  /** Draw ranges, some of which touch the ones before. */
  private long[] draw() {
    if (drawn.nextInt(10) == 0) return null;
    long[] ranges = new long[2 * drawn.nextInt(5)];
    int from = 0;
    for (int at = 0; at < ranges.length; at += 2) {
      from += drawn.nextInt(4);
      ranges[at] = from;
      from += 1 + drawn.nextInt(8);
      ranges[at + 1] = from;
    }
    if (ranges.length > 0 && drawn.nextBoolean()) ranges[ranges.length - 1] = Long.MAX_VALUE;
    return ranges;
  }

  @Test
  void combinesAsSetsOfRows() {
    for (int i = 0; i < 5000; i++) {
      long[] one = draw();
      long[] other = draw();
      BitSet both = rows(one);
      both.and(rows(other));
      BitSet either = rows(one);
      either.or(rows(other));

      long[] intersection = RowRanges.intersection(one, other);
      long[] union = RowRanges.union(one, other);

      assertEquals(both, rows(intersection));
      assertEquals(either, rows(union));
      if (intersection != null) RowRanges.check(intersection);
      if (union != null) RowRanges.check(union);
    }
  }

  /** The rows of a row group are counted from its first one, and none is lost at its edges. */
  @Test
  void cutsRowGroups() {
    for (int i = 0; i < 2000; i++) {
      long[] ranges = draw();
      int first = drawn.nextInt(ROWS);
      int count = drawn.nextInt(ROWS - first) + 1;
      BitSet expected = rows(ranges).get(first, first + count);

      assertEquals(expected, rows(RowRanges.within(ranges, first, count)));
    }
    long[] last = {9, Long.MAX_VALUE};
    assertArrayEquals(new long[] {0, 1}, RowRanges.within(last, 9, 1));
    assertArrayEquals(RowRanges.NONE, RowRanges.within(last, 8, 1));
  }

  @Test
  void counts() {
    assertEquals(0, RowRanges.count(RowRanges.NONE));
    assertEquals(5, RowRanges.count(new long[] {0, 2, 4, 7}));
    assertEquals(Long.MAX_VALUE, RowRanges.count(new long[] {0, 2, 4, Long.MAX_VALUE}));
    assertEquals(Long.MAX_VALUE, RowRanges.count(null));
  }

  @Test
  void refusesRangesOutOfOrder() {
    for (long[] wrong : new long[][] {{3, 3}, {4, 3}, {-1, 3}, {0, 5, 4, 6}, {5, 6, 0, 1}}) {
      assertThrows(IllegalArgumentException.class, () -> RowRanges.check(wrong));
    }
    RowRanges.check(new long[] {0, 5, 5, 6});
  }

  /** Rows belong to a file by path, length and modification time. */
  @Test
  void knowsFilesByTheirIdentity() {
    FileRows rows = new FileRows();
    rows.put("s3a://b/f", 10, 20, new long[] {1, 2}, -1);

    assertArrayEquals(new long[] {1, 2}, rows.ranges("s3://b/f", 10, 20));
    assertNull(rows.ranges("s3://b/f", 11, 20));
    assertNull(rows.ranges("s3://b/f", 10, 21));
    assertNull(rows.ranges("s3://b/other", 10, 20));
  }

  /** Of two choices for the same file, rows that both want are read. */
  @Test
  void retainsRowsOfBothChoices() {
    FileRows rows = new FileRows();
    rows.put("file:/a", 1, 1, new long[] {0, 10}, -1);
    rows.put("file:/changed", 1, 1, new long[] {0, 10}, -1);
    FileRows before = new FileRows();
    before.put("file:/a", 1, 1, new long[] {5, 20}, -1);
    before.put("file:/b", 1, 1, new long[] {3, 4}, -1);
    before.put("file:/changed", 1, 2, new long[] {5, 20}, -1);

    rows.retain(before);
    rows.retain(null);

    assertArrayEquals(new long[] {5, 10}, rows.ranges("file:/a", 1, 1));
    assertArrayEquals(new long[] {3, 4}, rows.ranges("file:/b", 1, 1));
    assertArrayEquals(new long[] {0, 10}, rows.ranges("file:/changed", 1, 1));
  }
}
