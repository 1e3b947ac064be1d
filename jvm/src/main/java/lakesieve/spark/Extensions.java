package lakesieve.spark;

import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.function.Consumer;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;

/** Extends sessions that run already. Sessions that come from one another share what is added. */
public final class Extensions {
  // names of what was added; its monitor guards it
  private static final Map<SparkSessionExtensions, Set<String>> ADDED = new WeakHashMap<>();

  private Extensions() {}

  /** Add something, unless it was added under this name before. */
  public static void once(SparkSession session, String name, Consumer<SparkSessionExtensions> add) {
    SparkSessionExtensions extensions = ClassicSessions.extensions(session);
    synchronized (ADDED) {
      Set<String> names = ADDED.computeIfAbsent(extensions, unknown -> new HashSet<>());
      if (names.contains(name)) return;
      add.accept(extensions);
      names.add(name);
    }
  }
}
