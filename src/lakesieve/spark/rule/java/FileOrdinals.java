package lakesieve;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The catalogues of indexes that Python sent, for all sessions of this process: the least recently
 * used go when together they take more bytes than they may.
 */
public final class FileOrdinals {
  private static final LinkedHashMap CATALOGUES = new LinkedHashMap(16, 0.75f, true);
  private static long held = 0;

  /** Those that are there, by their names. */
  public static synchronized Map known() {
    return new HashMap(CATALOGUES);
  }

  /** Bytes that they take. */
  public static synchronized long bytes() {
    return held;
  }

  /** Keep one that is complete, and note which were used now. */
  public static synchronized void remember(Map used, long limit) {
    for (Iterator it = used.entrySet().iterator(); it.hasNext(); ) {
      Map.Entry e = (Map.Entry) it.next();
      CatalogueFiles files = (CatalogueFiles) e.getValue();
      if (CATALOGUES.put(e.getKey(), files) == null) held += files.bytes();
    }
    List oldest = new ArrayList(CATALOGUES.keySet());
    for (int i = 0; i < oldest.size() && held > limit; i++) {
      held -= ((CatalogueFiles) CATALOGUES.remove(oldest.get(i))).bytes();
    }
  }
}
