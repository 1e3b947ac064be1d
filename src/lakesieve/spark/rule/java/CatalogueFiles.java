package lakesieve;

/**
 * The data files of one catalogue, by digests of their paths (see {@link PathSet}): 16 bytes a file
 * and a table of ordinals.
 */
public final class CatalogueFiles {
  private final long[] digests; // two words a file, in order of the ordinals
  private final int[] table; // open addressing: ordinal + 1, 0 is free
  private int known = 0;

  /** Make it for a number of files, which are added later. */
  public CatalogueFiles(int files) {
    this.digests = new long[2 * files];
    int size = 8;
    while (size < files + files / 2) size *= 2;
    this.table = new int[size];
  }

  /** Number of files in the catalogue. */
  public int files() {
    return this.digests.length / 2;
  }

  /** Bytes of memory that it takes. */
  public long bytes() {
    return 8L * this.digests.length + 4L * this.table.length + 200L;
  }

  /** Number of files that were added so far. */
  public int known() {
    return this.known;
  }

  /** Add the digests of the next files, in order of their ordinals. */
  public void add(byte[] data) {
    if (data.length % 16 != 0 || this.known + data.length / 16 > files()) {
      throw new IllegalArgumentException("more files than the catalogue has");
    }
    for (int at = 0; at < data.length; at += 16) {
      long a = PathSet.word(data, at);
      long b = PathSet.word(data, at + 8);
      this.digests[2 * this.known] = a;
      this.digests[2 * this.known + 1] = b;
      this.known++;
      int slot = (int) a & this.table.length - 1;
      while (this.table[slot] != 0) slot = slot + 1 & this.table.length - 1;
      this.table[slot] = this.known;
    }
  }

  /** The ordinal of a file of another catalogue, or -1. */
  public int ordinal(CatalogueFiles other, int ordinal) {
    return ordinal(other.digests[2 * ordinal], other.digests[2 * ordinal + 1]);
  }

  /** The ordinal of a file by the two words of its digest, or -1. */
  public int ordinal(long a, long b) {
    int slot = (int) a & this.table.length - 1;
    while (this.table[slot] != 0) {
      int at = this.table[slot] - 1;
      if (this.digests[2 * at] == a && this.digests[2 * at + 1] == b) return at;
      slot = slot + 1 & this.table.length - 1;
    }
    return -1;
  }
}
