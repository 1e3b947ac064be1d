package lakesieve;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** What the pruning rule needs of one table format's scans. One implementation per format. */
public interface ScanAdapter {
  /** The scan behind a leaf of the optimized plan, or null when the leaf is not this format's. */
  Object scan(LogicalPlan leaf);

  /**
   * True when scans are changed where they stand, and so are met only once; false when the leaf is
   * replaced, which other plans may share.
   */
  boolean inPlace();

  /** Null when the scan may be pruned, else why it must stay as it is. */
  String refusal(LogicalPlan leaf);

  /**
   * The condition on the rows that a command changes, where the ones above the leaf pick others; null
   * where they are the same.
   */
  Map changedRows(LogicalPlan plan, LogicalPlan leaf);

  /** Table name, uuid, location, snapshot and schema, as plain maps, strings and numbers. */
  Map describe(LogicalPlan leaf) throws Exception;

  /** Number of data files the scan would open now. */
  int fileCount(LogicalPlan leaf) throws Exception;

  /**
   * Keep only the files of the set; returns how many files were not covered by it. A leaf to stand in
   * place of this one goes into the map.
   */
  int prune(LogicalPlan leaf, KeepSet keep, Map replaced) throws Exception;

  /** True for a leaf with all files of its table, which the format has not looked at yet. */
  boolean isDeferred(LogicalPlan leaf);

  /** The plan as the format makes it, without some deferred leaves. */
  LogicalPlan restored(LogicalPlan plan, List leaves);

  /** Options given to this read by the caller. */
  String option(LogicalPlan leaf, String name);

  /** Make the scan return every row as written, of each stride-th of the files in the map (null: all). */
  void readRaw(LogicalPlan leaf, int stride, PathSet files, Map replaced) throws Exception;
}
