package lakesieve.files;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;

/**
 * A set of data files by digests of their paths, 16 bytes each, because a table may have millions.
 *
 * <p>A digest is the first half of the SHA-256 of a secret and the path. Among a billion paths, the
 * probability that two have the same digest is below 2^-68. Nobody who does not know the secret can
 * name files so that their digests are equal.
 */
public final class PathSet {
  private static final VarHandle WORDS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final byte[] SECRET = new byte[32]; // of this process: sets are compared

  static {
    new SecureRandom().nextBytes(SECRET);
  }

  private long[] table = new long[16]; // open addressing: two words a path, two zeros are free
  private int size = 0;

  /** Return the number of paths in the set. */
  public int size() {
    return size;
  }

  /** Add a path, if it is not in the set. */
  public void add(String path) {
    byte[] digest = digest(SECRET, path);
    put(word(digest, 0), word(digest, 8));
  }

  /** Return true when a path is in the set. */
  public boolean contains(String path) {
    byte[] digest = digest(SECRET, path);
    long first = word(digest, 0);
    long second = word(digest, 8);
    int at = slot(first, second);
    return table[at] == first && table[at + 1] == second;
  }

  /** Add all paths of another set. */
  public void addAll(PathSet other) {
    for (int at = 0; at < other.table.length; at += 2) {
      if (other.table[at] == 0 && other.table[at + 1] == 0) continue;
      put(other.table[at], other.table[at + 1]);
    }
  }

  /**
   * Return a text that is equal for sets of the same paths in this process, and differs otherwise.
   */
  public String mark() {
    long first = 0;
    long second = 0;
    for (int at = 0; at < table.length; at += 2) {
      first += table[at];
      second += table[at + 1];
    }
    return size + "-" + Long.toHexString(first) + "-" + Long.toHexString(second);
  }

  private void put(long first, long second) {
    // make room first: at most two thirds of the slots are used
    if (3L * (size + 1) > table.length) grow();
    int at = slot(first, second);
    if (table[at] == first && table[at + 1] == second) return;
    table[at] = first;
    table[at + 1] = second;
    size++;
  }

  /** Return the slot of a digest, or the free slot that the digest would take. */
  private int slot(long first, long second) {
    int at = 2 * (int) first & table.length - 2;
    while ((table[at] != 0 || table[at + 1] != 0)
        && (table[at] != first || table[at + 1] != second)) {
      at = at + 2 & table.length - 1;
    }
    return at;
  }

  private void grow() {
    long[] old = table;
    table = new long[Math.multiplyExact(2, old.length)];
    size = 0;
    for (int at = 0; at < old.length; at += 2) {
      if (old[at] != 0 || old[at + 1] != 0) put(old[at], old[at + 1]);
    }
  }

  /** Return true for a set of the same paths. */
  @Override
  public boolean equals(Object other) {
    return other instanceof PathSet that && mark().equals(that.mark());
  }

  /** Return a hash of the paths, in any order. */
  @Override
  public int hashCode() {
    return mark().hashCode();
  }

  /** Return the digest of a path, of which the first 16 bytes count. */
  public static byte[] digest(byte[] secret, String path) {
    try {
      MessageDigest sha = MessageDigest.getInstance("SHA-256");
      sha.update(secret);
      return sha.digest(path.getBytes(StandardCharsets.UTF_8));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e); // every Java has SHA-256
    }
  }

  /** Return eight bytes of a digest as a word, the lowest byte first. */
  public static long word(byte[] data, int at) {
    return (long) WORDS.get(data, at);
  }
}
