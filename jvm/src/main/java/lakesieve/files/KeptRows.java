package lakesieve.files;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Base64;

/** The rows to read of the files that an index keeps. Numbers are little-endian, in base64. */
final class KeptRows {
  private static final int PAIR = 2 * Long.BYTES;

  private final byte[] kept;
  private final int[] before; // files kept before each byte of the bitmap
  private final int[] starts; // by kept file: the number of ranges before its own
  private final ByteBuffer ranges;
  private final ByteBuffer records; // null where they are not known

  private KeptRows(
      byte[] kept, int files, ByteBuffer counts, ByteBuffer ranges, ByteBuffer records) {
    this.kept = kept;
    this.ranges = ranges;
    this.records = records;
    before = new int[kept.length + 1];
    for (int at = 0; at < kept.length; at++) {
      int bits = Math.min(8, Math.max(0, files - 8 * at));
      before[at + 1] = before[at] + Integer.bitCount(kept[at] & (1 << bits) - 1);
    }
    int count = before[kept.length];
    if (counts.remaining() != Integer.BYTES * (long) count) {
      throw new IllegalArgumentException("counts of row ranges do not fit the bitmap");
    }
    if (records != null && records.remaining() != Long.BYTES * (long) count) {
      throw new IllegalArgumentException("numbers of records do not fit the bitmap");
    }
    starts = new int[count + 1];
    for (int at = 0; at < count; at++) {
      int own = counts.getInt(Integer.BYTES * at);
      if (own < 0) throw new IllegalArgumentException("too many row ranges");
      starts[at + 1] = Math.addExact(starts[at], own);
    }
    if (ranges.remaining() != PAIR * (long) starts[count]) {
      throw new IllegalArgumentException("row ranges do not fit their counts");
    }
    for (int at = 0; at < count; at++) RowRanges.check(read(at));
  }

  /**
   * Read the rows from an answer.
   *
   * @param kept a bit for each file
   * @param files the number of files
   * @param counts 32 bits for each kept file: the number of its ranges, 0 for all rows
   * @param ranges two numbers of 64 bits for each range, see {@link RowRanges}
   * @param records 64 bits for each kept file: the number of its rows; null where it is not known
   */
  static KeptRows read(byte[] kept, int files, String counts, String ranges, String records) {
    ByteBuffer known = records == null ? null : decoded(records);
    return new KeptRows(kept, files, decoded(counts), decoded(ranges), known);
  }

  private static ByteBuffer decoded(String base64) {
    return ByteBuffer.wrap(Base64.getDecoder().decode(base64)).order(ByteOrder.LITTLE_ENDIAN);
  }

  /**
   * Return the rows to read of a file.
   *
   * @param at the file's place in the bitmap, where its bit is set
   */
  long[] of(int at) {
    long[] rows = read(keptFile(at));
    return rows.length == 0 ? null : rows;
  }

  /** Return the number of all rows of that file, or -1. */
  long records(int at) {
    return records == null ? -1 : records.getLong(Long.BYTES * keptFile(at));
  }

  /** Return how many kept files come before a kept file, given by its place in the bitmap. */
  private int keptFile(int at) {
    int lower = kept[at >> 3] & (1 << (at & 7)) - 1;
    return before[at >> 3] + Integer.bitCount(lower);
  }

  private long[] read(int file) {
    long[] rows = new long[2 * (starts[file + 1] - starts[file])];
    int from = PAIR * starts[file];
    for (int at = 0; at < rows.length; at++) rows[at] = ranges.getLong(from + Long.BYTES * at);
    return rows;
  }
}
