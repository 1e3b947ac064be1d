package lakesieve;

import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;

/**
 * Which files to keep: those that no index covers, and those that the indexes' answers name.
 *
 * <p>The answers form a tree: {"op": "and" or "or", "args"}, {"op": "none"}, or {"index", "keep"},
 * a little-endian bitmap in base64 over the catalogues of that index, one after another. A file that an
 * index does not cover matches every condition.
 */
public final class KeepSet {
  private static final int FEW = 20;

  private final CatalogueFiles[][] indexes;
  private final Object tree;
  private final byte[] secret;
  private final String mark;
  // the latest path looked up, and its digest
  private String path;
  private long first;
  private long second;

  /**
   * Make it of an answer.
   *
   * @param indexes the catalogues of each
   * @param tree as read from JSON
   * @param secret of the digests
   * @param mark names the choice among others for the same table and conditions, null when it follows
   *     from those alone
   */
  public KeepSet(CatalogueFiles[][] indexes, Map<String, Object> tree, byte[] secret, String mark) {
    this.indexes = indexes;
    this.secret = secret;
    this.mark = mark;
    this.tree = read(tree);
  }

  private Object read(Map<String, Object> node) {
    if (node.get("index") == null) {
      List<Object> args = new ArrayList<>();
      args.add(node.get("op"));
      if (node.get("args") == null) return args;
      for (Map<String, Object> arg : (List<Map<String, Object>>) node.get("args")) args.add(read(arg));
      return args;
    }
    CatalogueFiles[] catalogues = this.indexes[((Number) node.get("index")).intValue()];
    byte[] bits = Base64.getDecoder().decode((String) node.get("keep"));
    long files = 0;
    for (CatalogueFiles catalogue : catalogues) files += catalogue.files();
    if (bits.length * 8L < files) {
      throw new IllegalArgumentException("bitmap shorter than the catalogues");
    }
    return new Object[] {catalogues, bits};
  }

  /** Null, or what distinguishes the scan from those that keep other files: equal scans run once. */
  public String mark() {
    return this.mark;
  }

  /** True for few of a scan's files: what a format knows of each would hardly skip more. */
  public static boolean isFew(int kept, int total) {
    return kept <= 1 || kept * FEW <= total;
  }

  /** What the digests of paths begin with. */
  public byte[] secret() {
    return this.secret;
  }

  /** False when none of a group of files is to be read. */
  public boolean mayKeep(FileGroup group) {
    boolean covered = false;
    for (CatalogueFiles[] catalogues : this.indexes) covered = covered || group.isCovered(catalogues);
    return !covered || mayKeep(this.tree, group);
  }

  private static boolean mayKeep(Object node, FileGroup group) {
    if (node instanceof Object[]) {
      CatalogueFiles[] catalogues = (CatalogueFiles[]) ((Object[]) node)[0];
      byte[] bits = (byte[]) ((Object[]) node)[1];
      return group.holds(catalogues, bits) || !group.isCovered(catalogues);
    }
    List<Object> args = (List<Object>) node;
    if ("none".equals(args.get(0))) return false;
    boolean isOr = "or".equals(args.get(0));
    for (int i = 1; i < args.size(); i++) {
      if (mayKeep(args.get(i), group) == isOr) return isOr;
    }
    return !isOr;
  }

  /** True when some index covers a file. */
  public synchronized boolean covers(String path) {
    find(path);
    for (CatalogueFiles[] catalogues : this.indexes) {
      for (CatalogueFiles catalogue : catalogues) {
        if (catalogue.ordinal(this.first, this.second) >= 0) return true;
      }
    }
    return false;
  }

  /** True for a file that is to be read. */
  public synchronized boolean keeps(String path) {
    return !covers(path) || keeps(this.tree);
  }

  private void find(String path) {
    if (path.equals(this.path)) return;
    byte[] digest = PathSet.digest(this.secret, path);
    this.path = path;
    this.first = PathSet.word(digest, 0);
    this.second = PathSet.word(digest, 8);
  }

  private boolean keeps(Object node) {
    if (node instanceof Object[]) {
      Object[] leaf = (Object[]) node;
      return keeps((CatalogueFiles[]) leaf[0], (byte[]) leaf[1]);
    }
    List<Object> args = (List<Object>) node;
    if ("none".equals(args.get(0))) return false;
    boolean isOr = "or".equals(args.get(0));
    for (int i = 1; i < args.size(); i++) {
      if (keeps(args.get(i)) == isOr) return isOr;
    }
    return !isOr;
  }

  private boolean keeps(CatalogueFiles[] catalogues, byte[] bits) {
    boolean covered = false;
    int start = 0;
    for (CatalogueFiles catalogue : catalogues) {
      int at = catalogue.ordinal(this.first, this.second);
      if (at >= 0) {
        int i = start + at;
        if ((bits[i >> 3] >> (i & 7) & 1) == 1) return true;
        covered = true;
      }
      start += catalogue.files();
    }
    return !covered;
  }
}
