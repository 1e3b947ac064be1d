package lakesieve;

/**
 * The data files of one catalogue, by digests of their paths (see {@link PathSet}): 16 bytes a file
 * and a table of ordinals.
 */
public final class CatalogueFiles {
  private final long[] digests; // two words a file, in order of the ordinals
  private final int[] table; // open addressing: ordinal + 1, 0 is free
  private int known = 0;

  public CatalogueFiles(int files) {
    this.digests = new long[2 * files];
    int size = 8;
    while (size < files + files / 2) size *= 2;
    this.table = new int[size];
  }

  public int files() {
    return this.digests.length / 2;
  }

  public long bytes() {
    return 8L * this.digests.length + 4L * this.table.length + 200L;
  }

  /** How many of the files are there so far. */
  public int known() {
    return this.known;
  }

  /** The next files, in order of their ordinals. */
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
      int place = (int) a & this.table.length - 1;
      while (this.table[place] != 0) place = place + 1 & this.table.length - 1;
      this.table[place] = this.known;
    }
  }

  /** The ordinal of a file, -1 when it is not there. */
  public int ordinal(long a, long b) {
    int place = (int) a & this.table.length - 1;
    while (this.table[place] != 0) {
      int at = this.table[place] - 1;
      if (this.digests[2 * at] == a && this.digests[2 * at + 1] == b) return at;
      place = place + 1 & this.table.length - 1;
    }
    return -1;
  }
}
