package lakesieve;

import java.util.ArrayList;
import java.util.Base64;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

/**
 * Which files to keep: those that no index covers, and those of the answers of the indexes.
 *
 * <p>The answers stand in a tree: {"op": "and" or "or", "args"}, {"op": "none"}, or {"index", "keep"},
 * a little-endian bitmap in base64 over the catalogues of that index, one after another. A file that an
 * index does not cover matches every condition.
 */
public final class KeepSet {
  private static final int FEW = 20;

  private final CatalogueFiles[][] indexes;
  private final Object tree;
  private final byte[] secret;
  private final String mark;
  private String path; // the latest looked up, and its digest
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
  public KeepSet(CatalogueFiles[][] indexes, Map tree, byte[] secret, String mark) {
    this.indexes = indexes;
    this.secret = secret;
    this.mark = mark;
    this.tree = read(tree);
  }

  private Object read(Map node) {
    if (node.get("index") == null) {
      List args = new ArrayList();
      args.add(node.get("op"));
      if (node.get("args") == null) return args;
      for (Iterator it = ((List) node.get("args")).iterator(); it.hasNext(); ) {
        args.add(read((Map) it.next()));
      }
      return args;
    }
    Object[] leaf = new Object[2];
    leaf[0] = this.indexes[((Number) node.get("index")).intValue()];
    byte[] bits = Base64.getDecoder().decode((String) node.get("keep"));
    leaf[1] = bits;
    CatalogueFiles[] catalogues = (CatalogueFiles[]) leaf[0];
    long files = 0;
    for (int i = 0; i < catalogues.length; i++) files += catalogues[i].files();
    if (bits.length * 8L < files) throw new IllegalArgumentException("bitmap shorter than the catalogues");
    return leaf;
  }

  /** Null, or what must tell the scan from those that keep other files: equal scans run once. */
  public String mark() {
    return this.mark;
  }

  /** Few of a scan's files: what a format knows of each would hardly take out more. */
  public static boolean isFew(int kept, int total) {
    return kept <= 1 || kept * FEW <= total;
  }

  public synchronized boolean covers(String path) {
    find(path);
    for (int i = 0; i < this.indexes.length; i++) {
      for (int j = 0; j < this.indexes[i].length; j++) {
        if (this.indexes[i][j].ordinal(this.first, this.second) >= 0) return true;
      }
    }
    return false;
  }

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
    List args = (List) node;
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
    for (int j = 0; j < catalogues.length; j++) {
      int at = catalogues[j].ordinal(this.first, this.second);
      if (at >= 0) {
        int i = start + at;
        if ((bits[i >> 3] >> (i & 7) & 1) == 1) return true;
        covered = true;
      }
      start += catalogues[j].files();
    }
    return !covered;
  }
}
