package lakesieve;

import java.util.Map;
import java.util.WeakHashMap;

/**
 * Data files that a format lists together and that never change, such as those of a manifest: whether
 * any of them is kept is known without listing them again.
 *
 * <p>16 bytes a file, and four for each catalogue that has some of them.
 */
public final class FileGroup {
  private static final int[] NONE = new int[0];

  private final long[] digests; // two words a file
  // by catalogue: the ordinal of each file or -1; NONE where it has none of them
  private final Map<CatalogueFiles, int[]> ordinals = new WeakHashMap<>();

  /** Make it of the digests of the paths, see {@link PathSet}. */
  public FileGroup(long[] digests) {
    this.digests = digests;
  }

  /** Number of files. */
  public int files() {
    return this.digests.length / 2;
  }

  /** Bytes of memory that it takes. */
  public synchronized long bytes() {
    long arrays = 0;
    for (Object found : this.ordinals.values()) arrays += 4L * ((int[]) found).length + 100L;
    return 8L * this.digests.length + arrays + 300L;
  }

  /** True when every file is in one of the catalogues. */
  public synchronized boolean isCovered(CatalogueFiles[] catalogues) {
    boolean[] covered = new boolean[files()];
    int left = covered.length;
    for (CatalogueFiles catalogue : catalogues) {
      if (left == 0) return true;
      int[] found = of(catalogue);
      for (int at = 0; at < found.length; at++) {
        if (found[at] < 0 || covered[at]) continue;
        covered[at] = true;
        left--;
      }
    }
    return left == 0;
  }

  /** True when a file has its bit, in a bitmap over the catalogues one after another. */
  public synchronized boolean holds(CatalogueFiles[] catalogues, byte[] bits) {
    int start = 0;
    for (CatalogueFiles catalogue : catalogues) {
      for (int ordinal : of(catalogue)) {
        int at = start + ordinal;
        if (ordinal >= 0 && (bits[at >> 3] >> (at & 7) & 1) == 1) return true;
      }
      start += catalogue.files();
    }
    return false;
  }

  private int[] of(CatalogueFiles catalogue) {
    int[] known = (int[]) this.ordinals.get(catalogue);
    if (known != null) return known;
    int[] found = new int[files()];
    boolean any = false;
    for (int at = 0; at < found.length; at++) {
      found[at] = catalogue.ordinal(this.digests[2 * at], this.digests[2 * at + 1]);
      any = any || found[at] >= 0;
    }
    if (!any) found = NONE;
    this.ordinals.put(catalogue, found);
    return found;
  }
}
