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
  private final long[] digests; // two words a file
  private final Map<CatalogueFiles, Ordinals> ordinals = new WeakHashMap<>();

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
    for (Object found : this.ordinals.values()) arrays += 4L * ((Ordinals) found).of.length + 150L;
    return 8L * this.digests.length + arrays + 300L;
  }

  /** True when every file is in one of the catalogues. */
  public synchronized boolean isCovered(CatalogueFiles[] catalogues) {
    int found = 0;
    for (CatalogueFiles catalogue : catalogues) {
      Ordinals in = in(catalogue);
      if (in.found == files()) return true;
      found += in.found;
    }
    if (found < files()) return false;
    boolean[] covered = new boolean[files()];
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

  /** True when a file has its bit, in a bitmap over the catalogues one after another. */
  public synchronized boolean holds(CatalogueFiles[] catalogues, byte[] bits) {
    int start = 0;
    for (CatalogueFiles catalogue : catalogues) {
      if (in(catalogue).holds(bits, start)) return true;
      start += catalogue.files();
    }
    return false;
  }

  private Ordinals in(CatalogueFiles catalogue) {
    Ordinals known = (Ordinals) this.ordinals.get(catalogue);
    if (known == null) {
      known = new Ordinals(this.digests, catalogue);
      this.ordinals.put(catalogue, known);
    }
    return known;
  }

  /** The ordinals that the files of a group have in a catalogue. */
  private static final class Ordinals {
    private final int[] of; // by file, -1 for one that is not there; empty where none is
    private final int found;
    private int least = Integer.MAX_VALUE;
    private int most = -1;

    Ordinals(long[] digests, CatalogueFiles catalogue) {
      int[] ordinals = new int[digests.length / 2];
      int count = 0;
      for (int at = 0; at < ordinals.length; at++) {
        ordinals[at] = catalogue.ordinal(digests[2 * at], digests[2 * at + 1]);
        if (ordinals[at] < 0) continue;
        count++;
        this.least = Math.min(this.least, ordinals[at]);
        this.most = Math.max(this.most, ordinals[at]);
      }
      this.of = count == 0 ? new int[0] : ordinals;
      this.found = count;
    }

    boolean holds(byte[] bits, int start) {
      if (this.found == 0) return false;
      // files that are mostly listed in the catalogue's order: a byte tells of eight of them
      boolean inOrder = this.most - this.least < 8L * this.found;
      if (inOrder && !any(bits, start + this.least, start + this.most)) return false;
      for (int ordinal : this.of) {
        int at = start + ordinal;
        if (ordinal >= 0 && (bits[at >> 3] >> (at & 7) & 1) == 1) return true;
      }
      return false;
    }

    /** False when no bit from the first to the last one is set. */
    private static boolean any(byte[] bits, int first, int last) {
      for (int at = first >> 3; at <= last >> 3; at++) {
        if (bits[at] != 0) return true;
      }
      return false;
    }
  }
}
