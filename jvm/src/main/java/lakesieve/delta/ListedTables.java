package lakesieve.delta;

import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import lakesieve.rule.PythonPlanner;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.Snapshot;

/**
 * The Delta tables whose files are listed from memory, and the files of their snapshots, as far as
 * they fit.
 *
 * <p>A table is added when indexes kept few of its files, unless it has too many files for the
 * memory. The files of a snapshot are kept as long as Delta keeps the snapshot. The files of a
 * table's latest snapshot are kept longer, because those of the next snapshot follow from them.
 */
final class ListedTables {
  private enum State {
    LISTED,
    TOO_LARGE
  }

  // by the locations of the tables; read for each plan, and therefore without a lock
  private final Map<String, State> states = new ConcurrentHashMap<>();

  private final Map<Snapshot, SnapshotFiles> bySnapshot = new WeakHashMap<>();
  private final Map<String, SnapshotFiles> latest = new HashMap<>(); // by the location of a table

  /** True when no table is listed from memory. */
  boolean isEmpty() {
    return !states.containsValue(State.LISTED);
  }

  /** True for a table that is listed from memory. */
  boolean contains(DeltaLog log) {
    return states.get(location(log)) == State.LISTED;
  }

  /** List a table from memory from now on, unless it has too many files. */
  void add(DeltaLog log) {
    states.putIfAbsent(location(log), State.LISTED);
  }

  /**
   * Return all files of a snapshot, which are listed once.
   *
   * @param secret of the digests of their paths, see {@link lakesieve.files.PathSet}
   */
  SnapshotFiles files(Snapshot snapshot, byte[] secret) throws Exception {
    String table = location(snapshot.deltaLog());
    SnapshotFiles before;
    synchronized (this) {
      SnapshotFiles known = bySnapshot.get(snapshot);
      if (known != null) return known;
      before = latest.get(table);
    }
    // outside the lock, because listing a large table takes seconds
    SnapshotFiles files = before == null ? null : before.after(snapshot, secret);
    if (files == null) files = new SnapshotFiles(snapshot, secret);
    long room = PythonPlanner.roomOfManifests();
    if (files.bytes() > room) {
      states.put(table, State.TOO_LARGE);
      throw new IllegalStateException("too many files");
    }
    remember(table, snapshot, files, room);
    return files;
  }

  private synchronized void remember(
      String table, Snapshot snapshot, SnapshotFiles files, long room) {
    if (files.bytes() + bytes() > room) {
      bySnapshot.clear();
      latest.clear();
    }
    bySnapshot.put(snapshot, files);
    latest.merge(table, files, (known, next) -> known.isAfter(next) ? known : next);
  }

  /** Bytes of all files that are kept. */
  private long bytes() {
    Set<SnapshotFiles> kept = Collections.newSetFromMap(new IdentityHashMap<>());
    kept.addAll(bySnapshot.values());
    kept.addAll(latest.values());
    return kept.stream().mapToLong(SnapshotFiles::bytes).sum();
  }

  private static String location(DeltaLog log) {
    return log.dataPath().toString();
  }
}
