package lakesieve.files;

import java.util.Arrays;
import java.util.BitSet;
import java.util.Iterator;
import java.util.Map;
import java.util.WeakHashMap;

/**
 * Data files that a format lists together and that never change, such as the files of a manifest.
 * Whether any of them is kept is known without listing them again.
 *
 * <p>It takes four bytes a file for each catalogue with some of the files, and 16 bytes a file for
 * digests. A catalogue with all of the files holds the digests for the group.
 */
public final class FileGroup {
  private final int files;
  private long[] digests; // two words a file; null where the holder has them
  private CatalogueFiles holder; // the latest that has every file, if any
  private final Map<CatalogueFiles, Ordinals> ordinals = new WeakHashMap<>();

  /** Create a group from the digests of its files' paths, which {@link PathSet} computes. */
  public FileGroup(long[] digests) {
    files = digests.length / 2;
    this.digests = digests;
  }

  /**
   * Create a group of files by their paths, see {@link FilePaths}.
   *
   * @param paths null for a file without a path of its own, which no catalogue has
   * @param secret that the digests begin with
   */
  public static FileGroup of(Iterator<String> paths, byte[] secret) {
    long[] digests = new long[512];
    int size = 0;
    while (paths.hasNext()) {
      if (size == digests.length) digests = Arrays.copyOf(digests, 2 * size);
      String path = paths.next();
      // zeros stand for a file without a path
      byte[] digest = path == null ? new byte[16] : PathSet.digest(secret, FilePaths.normal(path));
      digests[size++] = PathSet.word(digest, 0);
      digests[size++] = PathSet.word(digest, 8);
    }
    return new FileGroup(Arrays.copyOf(digests, size));
  }

  /** Return the number of files. */
  public int files() {
    return files;
  }

  /**
   * Return the bytes of memory that the group takes. The digests count even if a catalogue holds
   * them, because other code may drop the catalogue.
   */
  public synchronized long bytes() {
    long held = 16L * files + 300L;
    for (Ordinals known : ordinals.values()) held += 4L * known.of.length + 150L;
    return held;
  }

  /** Return true if some file is in a catalogue, without caching the result. */
  public synchronized boolean hasAny(CatalogueFiles catalogue) {
    for (int ordinal : found(catalogue)) {
      if (ordinal >= 0) return true;
    }
    return false;
  }

  /** Return true when every file is in one of the catalogues. */
  public synchronized boolean isCovered(CatalogueFiles[] catalogues) {
    int found = 0;
    for (CatalogueFiles catalogue : catalogues) {
      Ordinals in = in(catalogue);
      if (in.found == files) return true;
      found += in.found;
    }
    if (found < files) return false;
    boolean[] covered = new boolean[files];
    int left = covered.length;
    for (CatalogueFiles catalogue : catalogues) {
      int[] of = in(catalogue).of;
      for (int at = 0; at < of.length; at++) {
        if (of[at] < 0 || covered[at]) continue;
        covered[at] = true;
        left--;
      }
    }
    return left == 0;
  }

  /** Return true when some file has its bit in a bitmap over the catalogues, one after another. */
  public synchronized boolean holds(CatalogueFiles[] catalogues, byte[] bits) {
    int start = 0;
    for (CatalogueFiles catalogue : catalogues) {
      if (in(catalogue).holds(bits, start)) return true;
      start += catalogue.files();
    }
    return false;
  }

  /**
   * Mark each file in the first catalogue that has it.
   *
   * @param marks a bit for each file of each catalogue
   * @return how many files some catalogue has
   */
  public synchronized int mark(CatalogueFiles[] catalogues, BitSet[] marks) {
    int marked = 0;
    boolean[] done = new boolean[files];
    for (int i = 0; i < catalogues.length && marked < files; i++) {
      int[] of = in(catalogues[i]).of;
      for (int at = 0; at < of.length; at++) {
        if (of[at] < 0 || done[at]) continue;
        marks[i].set(of[at]);
        done[at] = true;
        marked++;
      }
    }
    return marked;
  }

  private Ordinals in(CatalogueFiles catalogue) {
    Ordinals known = ordinals.get(catalogue);
    if (known == null) {
      known = Ordinals.of(found(catalogue));
      ordinals.put(catalogue, known);
      if (known.found == files) {
        holder = catalogue;
        digests = null;
      }
    }
    return known;
  }

  /** Return the ordinal of each file in a catalogue, or -1. */
  private int[] found(CatalogueFiles catalogue) {
    int[] found = new int[files];
    int[] held = digests == null ? ordinals.get(holder).of : null;
    for (int at = 0; at < files; at++) {
      found[at] =
          held == null
              ? catalogue.ordinal(digests[2 * at], digests[2 * at + 1])
              : catalogue.ordinal(holder, held[at]);
    }
    return found;
  }

  /** The ordinals that the files of a group have in a catalogue. */
  private static final class Ordinals {
    private static final Ordinals NONE = new Ordinals(new int[0]);

    private final int[] of; // by file, -1 for a file that is not there; empty where none is there
    private final int found;
    private int least = Integer.MAX_VALUE;
    private int most = -1;

    private Ordinals(int[] ordinals) {
      int count = 0;
      for (int ordinal : ordinals) {
        if (ordinal < 0) continue;
        count++;
        least = Math.min(least, ordinal);
        most = Math.max(most, ordinal);
      }
      of = ordinals;
      found = count;
    }

    /**
     * Return the ordinals. All groups share one object if the catalogue has none of their files.
     */
    static Ordinals of(int[] ordinals) {
      Ordinals made = new Ordinals(ordinals);
      return made.found == 0 ? NONE : made;
    }

    boolean holds(byte[] bits, int start) {
      if (found == 0) return false;
      // files are mostly listed in the catalogue's order, so one byte covers eight of them
      boolean inOrder = most - least < 8L * found;
      if (inOrder && !any(bits, start + least, start + most)) return false;
      for (int ordinal : of) {
        int at = start + ordinal;
        if (ordinal >= 0 && (bits[at >> 3] >> (at & 7) & 1) == 1) return true;
      }
      return false;
    }

    /** Return false when no bit from the first to the last one is set. */
    private static boolean any(byte[] bits, int first, int last) {
      for (int at = first >> 3; at <= last >> 3; at++) {
        if (bits[at] != 0) return true;
      }
      return false;
    }
  }
}
