package lakesieve;

import java.util.HashMap;

/** Which files to keep: those the index does not cover, and those of its answer. */
public final class KeepSet {
  private static final int FEW = 20;

  private final HashMap ordinals;
  private final byte[] bits;
  private final String mark;

  /**
   * Make it of an answer.
   *
   * @param ordinals path to position in the bitmap
   * @param bits little-endian bitmap of files to keep
   * @param mark names the choice among others for the same table and conditions, null when it follows
   *     from those alone
   */
  public KeepSet(HashMap ordinals, byte[] bits, String mark) {
    if (bits.length * 8 < ordinals.size()) {
      throw new IllegalArgumentException("bitmap shorter than the catalogue");
    }
    this.ordinals = ordinals;
    this.bits = bits;
    this.mark = mark;
  }

  /** Null, or what must tell the scan from those that keep other files: equal scans run once. */
  public String mark() {
    return this.mark;
  }

  /** Few of a scan's files: what a format knows of each would hardly take out more. */
  public static boolean isFew(int kept, int total) {
    return kept <= 1 || kept * FEW <= total;
  }

  public boolean covers(String path) {
    return this.ordinals.containsKey(path);
  }

  public boolean keeps(String path) {
    Object at = this.ordinals.get(path);
    if (at == null) return true;
    int i = ((Integer) at).intValue();
    return (this.bits[i >> 3] >> (i & 7) & 1) == 1;
  }
}
