package lakesieve.files;

/**
 * The data files of one catalogue, by digests of their paths (see {@link PathSet}): 16 bytes a file
 * and a table of ordinals.
 */
public final class CatalogueFiles {
  private final long[] digests; // two words a file, in order of the ordinals
  private final int[] table; // open addressing: ordinal + 1, 0 is free
  private int known = 0;

  /** Create a catalogue of so many files, which are added later. */
  public CatalogueFiles(int files) {
    digests = new long[2 * files];
    int size = 8;
    while (size < files + files / 2) size *= 2;
    table = new int[size];
  }

  /** Return the number of files in the catalogue. */
  public int files() {
    return digests.length / 2;
  }

  /** Return the bytes of memory that the catalogue takes. */
  public long bytes() {
    return 8L * digests.length + 4L * table.length + 200L;
  }

  /** Return the number of files that were added so far. */
  public int known() {
    return known;
  }

  /** Add the digests of the next files, in order of their ordinals. */
  public void add(byte[] data) {
    if (data.length % 16 != 0 || known + data.length / 16 > files()) {
      throw new IllegalArgumentException("more files than the catalogue has");
    }
    for (int at = 0; at < data.length; at += 16) {
      long first = PathSet.word(data, at);
      digests[2 * known] = first;
      digests[2 * known + 1] = PathSet.word(data, at + 8);
      known++;
      int slot = (int) first & table.length - 1;
      while (table[slot] != 0) slot = slot + 1 & table.length - 1;
      table[slot] = known;
    }
  }

  /** Return the ordinal here of a file of another catalogue, or -1. */
  public int ordinal(CatalogueFiles other, int ordinal) {
    return ordinal(other.digests[2 * ordinal], other.digests[2 * ordinal + 1]);
  }

  /** Return the ordinal of the file whose digest has these two words, or -1. */
  public int ordinal(long first, long second) {
    int slot = (int) first & table.length - 1;
    while (table[slot] != 0) {
      int at = table[slot] - 1;
      if (digests[2 * at] == first && digests[2 * at + 1] == second) return at;
      slot = slot + 1 & table.length - 1;
    }
    return -1;
  }
}
