package lakesieve.delta;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import lakesieve.files.FileGroup;
import lakesieve.files.FileRows;
import lakesieve.files.KeepSet;
import lakesieve.files.PathSet;
import lakesieve.folders.FileRelations;
import lakesieve.folders.FileScans;
import lakesieve.rule.PruningRule;
import lakesieve.rule.Replacement;
import lakesieve.rule.ScanAdapter;
import lakesieve.spark.Scala;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.SnapshotDescriptor;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.files.TahoeBatchFileIndex;
import org.apache.spark.sql.delta.files.TahoeFileIndex;
import org.apache.spark.sql.delta.stats.PrepareDeltaScan;
import org.apache.spark.sql.delta.stats.PreparedDeltaFileIndex;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/**
 * Delta scans: the files that Delta has not skipped are filtered, and given to a new file index.
 *
 * <p>Queries read a PreparedDeltaFileIndex. DELETE, UPDATE and MERGE run queries over a
 * TahoeBatchFileIndex, whose action type names the command. One query finds the files with matches,
 * and other queries read only these files. A query that keeps all rows of these files has no
 * condition that could leave any out. Before these queries run, Delta records what the command
 * reads, for its conflict checks. A raw read also has a TahoeBatchFileIndex, with its own action
 * type.
 */
public final class DeltaScans extends ScanAdapter {
  // MERGE uses "batch", like other queries that Delta runs over some files, and "merge" for the
  // query that makes deletion vectors
  private static final Set<String> COMMANDS = Set.of("delete", "update", "batch", "merge");

  private final ListedTables tables = new ListedTables();
  // digest secret of the latest answer
  private volatile byte[] secret = new byte[0];

  @Override
  public void install(SparkSession session, PruningRule rule) {
    DeltaListing.install(session, rule, this);
  }

  @Override
  public Object scan(LogicalPlan leaf) {
    var relation = FileScans.relation(leaf);
    if (relation == null) return null;
    FileIndex index = relation.location();
    boolean isRead =
        index instanceof PreparedDeltaFileIndex
            || isOfCommand(index)
            || isDeferred(leaf)
            || rawRead(index) != null;
    return isRead ? leaf : null;
  }

  @Override
  public Map<String, Object> describe(LogicalPlan leaf) throws Exception {
    TahoeFileIndex index = index(leaf);
    SnapshotDescriptor snapshot = snapshot(index);
    var table = ((LogicalRelation) leaf).catalogTable();
    String location = index.deltaLog().dataPath().toString();
    Map<String, Object> description = new LinkedHashMap<>();
    description.put("format", "delta");
    description.put("table", table.isDefined() ? FileScans.name(table.get()) : location);
    description.put("location", location);
    description.put("uuid", snapshot.metadata().id());
    description.put("snapshot", String.valueOf(snapshot.version()));
    description.put("schema", DeltaFiles.schema(session(leaf), snapshot));
    return description;
  }

  @Override
  public int fileCount(LogicalPlan leaf) {
    KeptDeltaFiles.Whole whole = whole(leaf);
    return whole == null ? files(index(leaf)).size() : whole.files().count();
  }

  @Override
  public List<String> completeFiles(LogicalPlan leaf) throws Exception {
    TahoeFileIndex index = index(leaf);
    String root = index.path().toString();
    List<String> paths = new ArrayList<>();
    if (FileScans.mayDropFiles(FileScans.relation(leaf))) return paths;
    for (AddFile file : files(index)) {
      if (file.deletionVector() == null) paths.add(DeltaFiles.path(root, file.path()));
    }
    return paths;
  }

  @Override
  public List<FileGroup> completeGroups(LogicalPlan leaf, byte[] secret) throws Exception {
    KeptDeltaFiles.Whole whole = whole(leaf);
    if (whole == null) return super.completeGroups(leaf, secret);
    if (FileScans.mayDropFiles(FileScans.relation(leaf))) return List.of();
    return whole.files().withoutDeletes(secret);
  }

  @Override
  public int prune(
      LogicalPlan leaf,
      List<Expression> conditions,
      KeepSet keep,
      Map<LogicalPlan, LogicalPlan> replaced)
      throws Exception {
    TahoeFileIndex index = index(leaf);
    String root = index.path().toString();
    secret = keep.secret();
    KeptDeltaFiles.Whole whole = whole(leaf);
    List<AddFile> candidates = whole == null ? files(index) : whole.files().candidates(keep);
    List<AddFile> kept = new ArrayList<>();
    FileRows rows = new FileRows();
    int uncovered = 0;
    for (AddFile file : candidates) {
      String path = DeltaFiles.path(root, file.path());
      if (!keep.keeps(path)) continue;
      if (!keep.covers(path)) uncovered++;
      kept.add(file);
      rows.put(path, file.size(), file.modificationTime(), keep.rows(path), keep.records(path));
    }
    int total = fileCount(leaf);
    boolean skips = kept.size() < total;
    if (skips && keepsFew(leaf, kept.size(), conditions.isEmpty())) tables.add(index.deltaLog());
    if (skips || !rows.isEmpty()) replaced.put(leaf, withChosen(leaf, kept, rows));
    return uncovered;
  }

  @Override
  public boolean isDeferred(LogicalPlan leaf) {
    return whole(leaf) != null;
  }

  @Override
  public boolean keepsFew(LogicalPlan leaf, int kept, boolean isExact) {
    int total = fileCount(leaf);
    return KeepSet.isFew(kept, total) || (isExact && kept < total);
  }

  @Override
  public LogicalPlan restored(LogicalPlan plan, List<LogicalPlan> leaves) {
    Map<LogicalPlan, LogicalPlan> originals = new IdentityHashMap<>();
    // only the file index is restored: Spark may have pruned fields of structs in the meantime
    for (LogicalPlan leaf : leaves) {
      originals.put(leaf, FileRelations.with(leaf, whole(leaf).original()));
    }
    LogicalPlan before = plan.transformDownWithSubqueries(new Replacement(originals));
    return new PrepareDeltaScan(session(leaves.get(0))).apply(before);
  }

  /** The tables whose files are listed from memory: indexes kept few of them before. */
  ListedTables listedTables() {
    return tables;
  }

  /** Return the leaf with all files of a snapshot, which are listed once. */
  LogicalPlan listed(LogicalPlan leaf, Snapshot snapshot) throws Exception {
    var whole = new KeptDeltaFiles.Whole(index(leaf), tables.files(snapshot, secret));
    return FileRelations.with(
        leaf, KeptDeltaFiles.all(session(leaf), whole, index(leaf), snapshot));
  }

  @Override
  public String option(LogicalPlan leaf, String name) {
    return PruningRule.RAW_READ.equals(name) ? rawRead(index(leaf)) : null;
  }

  @Override
  public void readRaw(
      LogicalPlan leaf, int stride, PathSet files, Map<LogicalPlan, LogicalPlan> replaced)
      throws Exception {
    TahoeFileIndex index = index(leaf);
    String root = index.path().toString();
    List<AddFile> raw = new ArrayList<>();
    int selected = 0;
    for (AddFile file : files(index)) {
      String path = DeltaFiles.path(root, file.path());
      if (files != null && !files.contains(path)) continue;
      if (selected++ % stride == 0) raw.add(file);
    }
    replaced.put(leaf, FileRelations.strict(withChosen(leaf, raw, new FileRows())));
  }

  /** The specification of a raw read: its index's action type, after the word that marks it. */
  private static String rawRead(FileIndex index) {
    String mark = PruningRule.RAW_READ + " ";
    return index instanceof TahoeBatchFileIndex batch && batch.actionType().startsWith(mark)
        ? batch.actionType().substring(mark.length())
        : null;
  }

  /** True for the index of a query that a command runs over the files of its table. */
  private static boolean isOfCommand(FileIndex index) {
    // the exact class only, because subclasses read the files in another way
    return index.getClass() == TahoeBatchFileIndex.class
        && COMMANDS.contains(((TahoeBatchFileIndex) index).actionType());
  }

  private static List<AddFile> files(FileIndex index) {
    return Scala.list(
        index instanceof TahoeBatchFileIndex batch
            ? batch.addFiles()
            : ((PreparedDeltaFileIndex) index).preparedScan().files());
  }

  private static SnapshotDescriptor snapshot(FileIndex index) {
    return index instanceof TahoeBatchFileIndex batch
        ? batch.snapshot()
        : ((PreparedDeltaFileIndex) index).preparedScan().scannedSnapshot();
  }

  private static TahoeFileIndex index(LogicalPlan leaf) {
    return (TahoeFileIndex) FileScans.relation(leaf).location();
  }

  /** All files of the snapshot that a leaf reads if Delta has not skipped any yet, else null. */
  private static KeptDeltaFiles.Whole whole(LogicalPlan leaf) {
    return FileScans.relation(leaf).location() instanceof KeptDeltaFiles kept ? kept.whole() : null;
  }

  private static SparkSession session(LogicalPlan leaf) {
    return FileScans.relation(leaf).sparkSession();
  }

  private static LogicalPlan withChosen(LogicalPlan leaf, List<AddFile> files, FileRows rows) {
    TahoeFileIndex old = index(leaf);
    return FileRelations.with(
        leaf, KeptDeltaFiles.chosen(session(leaf), files, old, snapshot(old), rows));
  }
}
