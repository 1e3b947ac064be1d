package lakesieve;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.SecureRandom;

/**
 * A set of data files by digests of their paths, 16 bytes each: a table may have millions.
 *
 * <p>A digest is the first half of SHA-256 of a secret and the path. Two of a billion paths have the
 * same one with a chance below 2^-68, and nobody who does not know the secret can name a file so that
 * they do.
 */
public final class PathSet {
  private static final byte[] SECRET = new byte[32]; // of this process: sets are compared

  static {
    new SecureRandom().nextBytes(SECRET);
  }

  private long[] table = new long[16]; // open addressing: two words a path, two zeros are free
  private int size = 0;

  /** Number of paths in the set. */
  public int size() {
    return this.size;
  }

  /** Add a path, if it is not in the set. */
  public void add(String path) {
    // room first: at most two thirds are taken
    if (3L * (this.size + 1) > this.table.length) grow();
    byte[] digest = digest(SECRET, path);
    put(word(digest, 0), word(digest, 8));
  }

  /** True when a path is in the set. */
  public boolean contains(String path) {
    byte[] digest = digest(SECRET, path);
    long first = word(digest, 0);
    long second = word(digest, 8);
    int at = slot(first, second);
    return this.table[at] == first && this.table[at + 1] == second;
  }

  /** Add all of another set. */
  public void addAll(PathSet other) {
    for (int at = 0; at < other.table.length; at += 2) {
      if (other.table[at] == 0 && other.table[at + 1] == 0) continue;
      if (3L * (this.size + 1) > this.table.length) grow();
      put(other.table[at], other.table[at + 1]);
    }
  }

  /** A text that is equal for sets of the same paths in this process, and for no others. */
  public String mark() {
    long first = 0;
    long second = 0;
    for (int at = 0; at < this.table.length; at += 2) {
      first += this.table[at];
      second += this.table[at + 1];
    }
    return this.size + "-" + Long.toHexString(first) + "-" + Long.toHexString(second);
  }

  private void put(long first, long second) {
    int at = slot(first, second);
    if (this.table[at] == first && this.table[at + 1] == second) return;
    this.table[at] = first;
    this.table[at + 1] = second;
    this.size++;
  }

  /** The slot of a digest, or the free one that it would take. */
  private int slot(long first, long second) {
    int at = 2 * (int) first & this.table.length - 2;
    while ((this.table[at] != 0 || this.table[at + 1] != 0)
        && (this.table[at] != first || this.table[at + 1] != second)) {
      at = at + 2 & this.table.length - 1;
    }
    return at;
  }

  private void grow() {
    long[] old = this.table;
    this.table = new long[Math.multiplyExact(2, old.length)];
    this.size = 0;
    for (int at = 0; at < old.length; at += 2) {
      if (old[at] != 0 || old[at + 1] != 0) put(old[at], old[at + 1]);
    }
  }

  /** True for a set of the same paths. */
  @Override
  public boolean equals(Object other) {
    return other instanceof PathSet && mark().equals(((PathSet) other).mark());
  }

  /** A hash of the paths, in any order. */
  @Override
  public int hashCode() {
    return mark().hashCode();
  }

  /** The digest of a path; its first 16 bytes count. */
  public static byte[] digest(byte[] secret, String path) {
    try {
      MessageDigest sha = MessageDigest.getInstance("SHA-256");
      sha.update(secret);
      return sha.digest(path.getBytes(StandardCharsets.UTF_8));
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  /** Eight bytes of a digest. */
  public static long word(byte[] data, int at) {
    long word = 0;
    for (int i = 7; i >= 0; i--) word = word << 8 | data[at + i] & 255;
    return word;
  }
}
