package lakesieve;

import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;

/** The latest catalogues that Python sent: by the id of each, a map from paths to ordinals. */
public final class FileOrdinals {
  private static final int MOST = 16;

  private final LinkedHashMap catalogs = new LinkedHashMap();

  /** The map of paths that are told in their order, a line each. */
  public static HashMap of(String joined) {
    HashMap ordinals = new HashMap();
    if (joined.length() > 0) {
      String[] paths = joined.split("\n", -1);
      for (int i = 0; i < paths.length; i++) ordinals.put(paths[i], new Integer(i));
    }
    return ordinals;
  }

  public synchronized Map known() {
    return new HashMap(this.catalogs);
  }

  /** Keep those that were sent just now, and let the oldest go. */
  public synchronized void remember(Map known, Map sent) {
    for (Iterator it = sent.keySet().iterator(); it.hasNext(); ) {
      Object id = it.next();
      this.catalogs.put(id, known.get(id));
    }
    Iterator oldest = this.catalogs.keySet().iterator();
    for (int excess = this.catalogs.size() - MOST; excess > 0; excess--) {
      oldest.next();
      oldest.remove();
    }
  }
}
