package lakesieve.rule;

import java.util.List;
import java.util.Map;
import lakesieve.files.FileGroup;
import lakesieve.files.FileRows;
import lakesieve.files.KeepSet;
import lakesieve.files.PathSet;
import lakesieve.folders.FileScans;
import lakesieve.spark.Scala;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;

/**
 * What the pruning rule needs from one table format's scans, with one subclass for each format. A
 * method with a body has the default answer of a format.
 */
public abstract class ScanAdapter {
  /** Look up every private member that this adapter needs; throws when one of them is missing. */
  public void check() throws Exception {}

  /** Install in a session what this adapter needs besides the pruning rule. */
  public void install(SparkSession session, PruningRule rule) {}

  /** The scan behind a leaf of the optimized plan, or null when the leaf is not this format's. */
  public abstract Object scan(LogicalPlan leaf);

  /**
   * True if scans are changed in place, and are therefore visited only once. False if the leaf is
   * replaced, as other plans may share it.
   */
  public boolean inPlace() {
    return false;
  }

  /** Null if the scan may be pruned, else why it must stay as it is. */
  public String refusal(LogicalPlan leaf) {
    return null;
  }

  /**
   * The condition on the rows that a command changes, if the conditions above the leaf select other
   * rows; else null.
   */
  public Map<String, Object> changedRows(LogicalPlan plan, LogicalPlan leaf) {
    return null;
  }

  /** Table name, uuid, location, snapshot and schema, as plain maps, strings and numbers. */
  public abstract Map<String, Object> describe(LogicalPlan leaf) throws Exception;

  /** Number of data files that the scan would open now. */
  public abstract int fileCount(LogicalPlan leaf) throws Exception;

  /**
   * The same number after the format has skipped partitions by the conditions right above the leaf.
   */
  public int fileCount(LogicalPlan leaf, List<Expression> conditions) throws Exception {
    return fileCount(leaf);
  }

  /** Number of data files that the scan would open without the pruning so far. */
  public int totalFiles(LogicalPlan leaf, List<Expression> conditions) throws Exception {
    return fileCount(leaf, conditions);
  }

  /**
   * Keep only the files of the set, and return how many files the set does not cover. A leaf that
   * replaces this one is added to the map.
   */
  public abstract int prune(
      LogicalPlan leaf,
      List<Expression> conditions,
      KeepSet keep,
      Map<LogicalPlan, LogicalPlan> replaced)
      throws Exception;

  /** The rows that the scan reads of some files; null where it reads all rows of all files. */
  public FileRows rows(LogicalPlan leaf) {
    HadoopFsRelation relation = FileScans.relation(leaf);
    return relation == null ? null : FileScans.rows(relation);
  }

  /** Why the scan reads all rows of files of which an index names some rows; one text a reason. */
  public List<String> wholeFiles(LogicalPlan leaf) {
    return List.of();
  }

  /**
   * Why the scan reads all rows of row groups of which an index names some rows; one text a reason.
   */
  public List<String> wholeRowGroups(LogicalPlan leaf) {
    return List.of();
  }

  /**
   * Paths, as indexes have them, of data files of which the scan returns every row. Files of which
   * this is not certain are left out, such as all files if the read may skip damaged ones.
   */
  public List<String> completeFiles(LogicalPlan leaf) throws Exception {
    return List.of();
  }

  /**
   * The same files by the digests of their paths.
   *
   * @param secret that the digests begin with
   */
  public List<FileGroup> completeGroups(LogicalPlan leaf, byte[] secret) throws Exception {
    return List.of(FileGroup.of(completeFiles(leaf).iterator(), secret));
  }

  /** True for a scan that its format has not planned yet. */
  public boolean isOpen(LogicalPlan leaf) {
    return false;
  }

  /** True for a leaf with all files of its table, if the format has not skipped any yet. */
  public boolean isDeferred(LogicalPlan leaf) {
    return false;
  }

  /**
   * True if a deferred leaf keeps so few files that the format would hardly skip more.
   *
   * @param kept number of files that are kept
   * @param isExact whether indexes have answered every condition on the leaf
   */
  public boolean keepsFew(LogicalPlan leaf, int kept, boolean isExact) {
    return false;
  }

  /** The plan as the format makes it, without some deferred leaves. */
  public LogicalPlan restored(LogicalPlan plan, List<LogicalPlan> leaves) {
    return plan;
  }

  /** The value of an option that the caller gave to this read, or null. */
  public String option(LogicalPlan leaf, String name) {
    return Scala.orNull(FileScans.relation(leaf).options().get(name));
  }

  /**
   * Make the scan return every row as written.
   *
   * @param stride only every {@code stride}-th file is read
   * @param files the files from which these are taken, null for all
   * @param replaced gets a leaf that replaces this one
   */
  public abstract void readRaw(
      LogicalPlan leaf, int stride, PathSet files, Map<LogicalPlan, LogicalPlan> replaced)
      throws Exception;
}
