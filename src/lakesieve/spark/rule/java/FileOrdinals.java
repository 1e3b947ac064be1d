package lakesieve;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The catalogues of indexes that Python sent, for all sessions of this process: the least recently
 * used go when together they take more bytes than they may.
 */
public final class FileOrdinals {
  private static final LinkedHashMap<String, CatalogueFiles> CATALOGUES =
      new LinkedHashMap<>(16, 0.75f, true);
  private static long held = 0;

  /** A copy of the catalogues that are kept, by their names. */
  public static synchronized Map<String, CatalogueFiles> known() {
    return new HashMap<>(CATALOGUES);
  }

  /** Bytes that the catalogues take. */
  public static synchronized long bytes() {
    return held;
  }

  /** Keep complete catalogues, as the latest used, and drop the oldest beyond a limit in bytes. */
  public static synchronized void remember(Map<String, CatalogueFiles> used, long limit) {
    for (Map.Entry<String, CatalogueFiles> e : used.entrySet()) {
      CatalogueFiles files = (CatalogueFiles) e.getValue();
      if (CATALOGUES.put((String) e.getKey(), files) == null) held += files.bytes();
    }
    List<String> oldestFirst = new ArrayList<>(CATALOGUES.keySet());
    for (String name : oldestFirst) {
      if (held <= limit) return;
      held -= ((CatalogueFiles) CATALOGUES.remove(name)).bytes();
    }
  }
}
