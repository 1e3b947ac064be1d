package lakesieve;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.SnapshotDescriptor;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.files.TahoeBatchFileIndex;
import org.apache.spark.sql.delta.files.TahoeFileIndex;
import org.apache.spark.sql.delta.stats.PrepareDeltaScan;
import org.apache.spark.sql.delta.stats.PreparedDeltaFileIndex;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/**
 * Delta scans: the files that Delta has not skipped are filtered, and given to a new file index.
 *
 * <p>Reads have a PreparedDeltaFileIndex. DELETE, UPDATE and MERGE run queries themselves over a
 * TahoeBatchFileIndex, whose action type names the command: one for the files that hold a match,
 * another over these alone. What the command has read, for its conflict checks, is noted before. A
 * raw read is such an index too, whose action type names it so.
 */
public final class DeltaScans extends ScanAdapter {
  private static final String PRUNED = "lakesieve-pruned";
  private static final String LISTED = "lakesieve-listed";
  private static final List<String> COMMANDS = Arrays.asList("delete", "update", "batch");
  // by the location of a table: few files were kept, or there are too many for the memory
  private final Set<String> fewKept = new HashSet<>();
  private final Set<String> tooLarge = new HashSet<>();
  private final Map<Snapshot, SnapshotFiles> files = new WeakHashMap<>();
  private final Map<String, SnapshotFiles> latest = new HashMap<>(); // by the location of a table
  // of the latest answer
  private volatile byte[] secret = new byte[0];

  @Override
  public Object scan(LogicalPlan leaf) {
    HadoopFsRelation relation = FileScans.relation(leaf);
    if (relation == null) return null;
    FileIndex index = relation.location();
    if (index instanceof PreparedDeltaFileIndex || isOfCommand(index)) return leaf;
    return isDeferred(leaf) || rawRead(index) != null ? leaf : null;
  }

  @Override
  public Map<String, Object> describe(LogicalPlan leaf) throws Exception {
    TahoeFileIndex index = (TahoeFileIndex) index(leaf);
    SnapshotDescriptor snapshot = snapshot(index);
    scala.Option table = ((LogicalRelation) leaf).catalogTable();
    String location = index.deltaLog().dataPath().toString();
    Map<String, Object> m = new LinkedHashMap<>();
    m.put("format", "delta");
    m.put("table", table.isDefined() ? FileScans.name(table.get()) : location);
    m.put("location", location);
    m.put("uuid", snapshot.metadata().id());
    m.put("snapshot", String.valueOf(snapshot.version()));
    m.put("schema", DeltaFiles.schema(FileScans.relation(leaf).sparkSession(), snapshot));
    return m;
  }

  @Override
  public int fileCount(LogicalPlan leaf) {
    FileIndex index = index(leaf);
    return isDeferred(leaf) ? ((KeptDeltaFiles) index).all.count() : files(index).size();
  }

  @Override
  public int prune(
      LogicalPlan leaf,
      List<Expression> conditions,
      KeepSet keep,
      Map<LogicalPlan, LogicalPlan> replaced)
      throws Exception {
    TahoeFileIndex index = (TahoeFileIndex) index(leaf);
    String root = index.path().toString();
    this.secret = keep.secret();
    List<AddFile> kept = new ArrayList<>();
    int uncovered = 0;
    scala.collection.Iterator it =
        isDeferred(leaf)
            ? FileRelations.seq(((KeptDeltaFiles) index).all.candidates(keep)).iterator()
            : files(index).iterator();
    while (it.hasNext()) {
      AddFile file = (AddFile) it.next();
      String path = DeltaFiles.path(root, file.path());
      if (!keep.keeps(path)) continue;
      if (!keep.covers(path)) uncovered++;
      kept.add(file);
    }
    int total = fileCount(leaf);
    if (kept.size() < total) {
      if (KeepSet.isFew(kept.size(), total)) note(index.deltaLog());
      replaced.put(leaf, with(leaf, kept, snapshot(index)));
    }
    return uncovered;
  }

  @Override
  public boolean isDeferred(LogicalPlan leaf) {
    FileIndex index = index(leaf);
    return index instanceof KeptDeltaFiles && ((KeptDeltaFiles) index).original != null;
  }

  @Override
  public LogicalPlan restored(LogicalPlan plan, List<LogicalPlan> leaves) {
    Map<LogicalPlan, LogicalPlan> originals = new IdentityHashMap<>();
    for (LogicalPlan leaf : leaves) {
      originals.put(leaf, ((KeptDeltaFiles) index(leaf)).original);
    }
    SparkSession spark = FileScans.relation((LogicalPlan) leaves.get(0)).sparkSession();
    LogicalPlan before =
        (LogicalPlan) plan.transformDownWithSubqueries(new Replacement(originals));
    return (LogicalPlan) new PrepareDeltaScan(spark).apply(before);
  }

  /** Whether there is any table of which few files were kept before. */
  public boolean hasListed() {
    synchronized (this.fewKept) {
      return !this.fewKept.isEmpty();
    }
  }

  /** Whether the files of a table are listed ahead: few of them were kept before. */
  public boolean isListed(DeltaLog log) {
    synchronized (this.fewKept) {
      return this.fewKept.contains(log.dataPath().toString());
    }
  }

  private void note(DeltaLog log) {
    String table = log.dataPath().toString();
    synchronized (this.fewKept) {
      if (!this.tooLarge.contains(table)) this.fewKept.add(table);
    }
  }

  private void refuse(DeltaLog log) {
    String table = log.dataPath().toString();
    synchronized (this.fewKept) {
      this.tooLarge.add(table);
      this.fewKept.remove(table);
    }
  }

  /** The leaf with all files of a snapshot, which are listed once. */
  public LogicalPlan listed(LogicalPlan leaf, Snapshot snapshot) throws Exception {
    String table = snapshot.deltaLog().dataPath().toString();
    SnapshotFiles all;
    SnapshotFiles before;
    synchronized (this.files) {
      all = (SnapshotFiles) this.files.get(snapshot);
      before = (SnapshotFiles) this.latest.get(table);
    }
    if (all == null) {
      if (before != null) all = before.after(snapshot, this.secret);
      if (all == null) all = new SnapshotFiles(snapshot, this.secret);
      long room = PythonPlanner.roomOfManifests();
      if (all.bytes() > room) {
        refuse(snapshot.deltaLog());
        throw new IllegalStateException("too many files");
      }
      synchronized (this.files) {
        Set<Object> others = Collections.newSetFromMap(new IdentityHashMap<>());
        others.addAll(this.files.values());
        others.addAll(this.latest.values());
        long held = all.bytes();
        for (Object other : others) held += ((SnapshotFiles) other).bytes();
        if (held > room) {
          this.files.clear();
          this.latest.clear();
        }
        this.files.put(snapshot, all);
        before = (SnapshotFiles) this.latest.get(table);
        if (before == null || !before.isAfter(all)) this.latest.put(table, all);
      }
    }
    return with(leaf, FileRelations.seq(new ArrayList<>()), snapshot, leaf, all);
  }

  @Override
  public String option(LogicalPlan leaf, String name) {
    return PruningRule.RAW_READ.equals(name) ? rawRead(index(leaf)) : null;
  }

  @Override
  public void readRaw(
      LogicalPlan leaf, int stride, PathSet files, Map<LogicalPlan, LogicalPlan> replaced)
      throws Exception {
    TahoeBatchFileIndex index = (TahoeBatchFileIndex) index(leaf);
    List<AddFile> raw = new ArrayList<>();
    int selected = 0;
    String root = index.path().toString();
    scala.collection.Iterator it = index.addFiles().iterator();
    while (it.hasNext()) {
      AddFile file = (AddFile) it.next();
      String path = DeltaFiles.path(root, file.path());
      if (files != null && !files.contains(path)) continue;
      if (selected++ % stride == 0) raw.add(file);
    }
    replaced.put(leaf, FileRelations.strict(with(leaf, raw, index.snapshot())));
  }

  /** What a raw read is to read: the action type of its index, after the word that marks it. */
  private static String rawRead(FileIndex index) {
    if (!(index instanceof TahoeBatchFileIndex)) return null;
    String action = ((TahoeBatchFileIndex) index).actionType();
    String mark = PruningRule.RAW_READ + " ";
    return action.startsWith(mark) ? action.substring(mark.length()) : null;
  }

  /** True for the index of a query that a command runs over the files of its table. */
  private static boolean isOfCommand(FileIndex index) {
    // not a subclass, which reads the files in another way
    if (index.getClass() != TahoeBatchFileIndex.class) return false;
    // those of MERGE are called batch, as are other queries that Delta runs over some files
    return COMMANDS.contains(((TahoeBatchFileIndex) index).actionType());
  }

  private static scala.collection.Seq files(FileIndex index) {
    if (index instanceof TahoeBatchFileIndex) return ((TahoeBatchFileIndex) index).addFiles();
    return ((PreparedDeltaFileIndex) index).preparedScan().files();
  }

  private static SnapshotDescriptor snapshot(FileIndex index) {
    if (index instanceof TahoeBatchFileIndex) return ((TahoeBatchFileIndex) index).snapshot();
    return ((PreparedDeltaFileIndex) index).preparedScan().scannedSnapshot();
  }

  private static FileIndex index(LogicalPlan leaf) {
    return FileScans.relation(leaf).location();
  }

  private static LogicalPlan with(
      LogicalPlan leaf, List<AddFile> files, SnapshotDescriptor snapshot) {
    return with(leaf, FileRelations.seq(files), snapshot, null, null);
  }

  private static LogicalPlan with(
      LogicalPlan leaf,
      ${Seq} files,
      SnapshotDescriptor snapshot,
      LogicalPlan original,
      SnapshotFiles all) {
    TahoeFileIndex old = (TahoeFileIndex) index(leaf);
    return FileRelations.with(
        leaf,
        new KeptDeltaFiles(
            FileScans.relation(leaf).sparkSession(),
            original == null ? PRUNED : LISTED,
            files,
            old.deltaLog(),
            old.path(),
            snapshot,
            original,
            all));
  }
}
