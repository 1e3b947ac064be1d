package lakesieve.files;

import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The catalogues of indexes that Python sent, for all sessions of this process. When they take more
 * bytes than they may, the least recently used catalogues are dropped.
 */
public final class FileOrdinals {
  // in order of their last use
  private static final Map<String, CatalogueFiles> CATALOGUES =
      new LinkedHashMap<>(16, 0.75f, true);
  private static long held = 0;

  private FileOrdinals() {}

  /** Return a copy of the catalogues that are kept, by their names. */
  public static synchronized Map<String, CatalogueFiles> known() {
    return new HashMap<>(CATALOGUES);
  }

  /** Return the bytes that the catalogues take. */
  public static synchronized long bytes() {
    return held;
  }

  /**
   * Keep complete catalogues as the latest used, and drop the oldest beyond the limit.
   *
   * @param used the catalogues of one request, by their names
   * @param limit in bytes
   */
  public static synchronized void remember(Map<String, CatalogueFiles> used, long limit) {
    used.forEach(
        (name, files) -> {
          if (CATALOGUES.put(name, files) == null) held += files.bytes();
        });
    Iterator<CatalogueFiles> oldestFirst = CATALOGUES.values().iterator();
    while (held > limit && oldestFirst.hasNext()) {
      held -= oldestFirst.next().bytes();
      oldestFirst.remove();
    }
  }
}
