package lakesieve.files;

import java.util.Map;

/**
 * The choice of files to keep: those that no index covers, and those that the indexes' answers
 * keep, see {@link Answers}.
 */
public final class KeepSet {
  private static final int FEW = 20;

  private final CatalogueFiles[][] indexes;
  private final Answers answers;
  private final byte[] secret;
  private final String mark;
  // the latest path looked up, and its digest
  private String path;
  private long first;
  private long second;

  /**
   * Create the choice of files that an answer makes.
   *
   * @param indexes the catalogues of each index
   * @param tree the answers of the indexes as read from JSON
   * @param secret that the digests begin with
   * @param mark names the choice among others for the same table and conditions, null when it
   *     follows from those alone
   */
  public KeepSet(CatalogueFiles[][] indexes, Map<String, Object> tree, byte[] secret, String mark) {
    this.indexes = indexes;
    this.answers = Answers.read(tree, indexes);
    this.secret = secret;
    this.mark = mark;
  }

  /**
   * Return a text that distinguishes the scan from scans that keep other files, or null. Spark runs
   * equal scans only once.
   */
  public String mark() {
    return mark;
  }

  /** Return true for few of a scan's files. The format's own statistics would hardly skip more. */
  public static boolean isFew(int kept, int total) {
    return kept <= 1 || kept * FEW <= total;
  }

  /** Return what the digests of paths begin with. */
  public byte[] secret() {
    return secret;
  }

  /** Return false when none of a group of files is to be read. */
  public boolean mayKeep(FileGroup group) {
    for (CatalogueFiles[] catalogues : indexes) {
      if (group.isCovered(catalogues)) return answers.mayKeep(group);
    }
    return true;
  }

  /** Return true when some index covers a file. */
  public synchronized boolean covers(String path) {
    find(path);
    for (CatalogueFiles[] catalogues : indexes) {
      for (CatalogueFiles catalogue : catalogues) {
        if (catalogue.ordinal(first, second) >= 0) return true;
      }
    }
    return false;
  }

  /** Return true for a file that is to be read. */
  public synchronized boolean keeps(String path) {
    if (!covers(path)) return true;
    if (!answers.keep(first, second)) return false;
    // each of two indexes may keep rows of a file that the other leaves out
    long[] rows = answers.rows(first, second);
    return rows == null || rows.length > 0;
  }

  /** Return the rows of a file that are to be read, see {@link RowRanges}; null for all rows. */
  public synchronized long[] rows(String path) {
    return covers(path) ? answers.rows(first, second) : null;
  }

  /** Return the number of all rows of a file, or -1 where no index says it. */
  public synchronized long records(String path) {
    return covers(path) ? answers.records(first, second) : -1;
  }

  private void find(String path) {
    if (path.equals(this.path)) return;
    byte[] digest = PathSet.digest(secret, path);
    this.path = path;
    first = PathSet.word(digest, 0);
    second = PathSet.word(digest, 8);
  }
}
