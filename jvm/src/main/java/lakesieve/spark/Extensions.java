package lakesieve.spark;

import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.function.Consumer;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;

/** Adds extensions to running sessions. Sessions created from one another share the extensions. */
public final class Extensions {
  // names of the added extensions; access needs the monitor of this map
  private static final Map<SparkSessionExtensions, Set<String>> ADDED = new WeakHashMap<>();

  private Extensions() {}

  /** Call {@code add}, unless an extension of this name was added before. */
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
