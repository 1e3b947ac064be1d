package lakesieve;

import java.util.HashMap;

/** Which files to keep: those the index does not cover, and those of its answer. */
public final class KeepSet {
  private final HashMap ordinals;
  private final byte[] bits;

  /** ordinals: path to position in the bitmap; bits: little-endian bitmap of files to keep. */
  public KeepSet(HashMap ordinals, byte[] bits) {
    if (bits.length * 8 < ordinals.size()) {
      throw new IllegalArgumentException("bitmap shorter than the catalogue");
    }
    this.ordinals = ordinals;
    this.bits = bits;
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
