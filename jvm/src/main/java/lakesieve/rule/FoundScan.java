package lakesieve.rule;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * One scan of a plan, with the conditions above it. A scan that is changed in place may occur
 * several times in the plan. A leaf that occurs several times is a separate scan at each
 * occurrence. The occurrences are distinguished by the topmost of the filters and projections right
 * above the leaf.
 */
public final class FoundScan {
  /** The scan as its adapter knows it. */
  public final Object scan;

  /** The leaf of the plan that reads the scan. */
  public final LogicalPlan leaf;

  /** The topmost of the filters and projections right above the leaf, or the leaf itself. */
  public final LogicalPlan top;

  /** The adapter of the scan's table format. */
  public final ScanAdapter adapter;

  /** The conditions right above the first occurrence, as Spark has them. */
  public final List<Expression> above;

  /** The only rows that the query needs, for Python; null if it may need any row. */
  Map<String, Object> needed;

  /** Whether the indexes that the answer comes from know every row that the scan returns. */
  boolean allRowsKnown;

  /** Whether indexes know the first rows that the query needs. */
  boolean firstRowsKnown;

  /** The condition on the rows that a command changes; null when no command replaces files. */
  Map<String, Object> changedRows;

  /** Paths of the columns that indexes begin with; null while they are unknown. */
  List<List<String>> leading;

  /** Whether an index of the table has row blocks; false while it is unknown. */
  boolean rowBlocks;

  /** The row of the report; null before the planner is asked about the scan. */
  ScanOutcome outcome;

  private NeededRows neededRows;
  // the conditions above each occurrence
  private final List<Map<String, Object>> conditions = new ArrayList<>();
  private final List<Map<String, Object>> keys = new ArrayList<>();
  private int times = 0;

  FoundScan(
      Object scan, LogicalPlan leaf, LogicalPlan top, ScanAdapter adapter, List<Expression> above) {
    this.scan = scan;
    this.leaf = leaf;
    this.top = top;
    this.adapter = adapter;
    this.above = above;
  }

  /**
   * Count an occurrence.
   *
   * @param condition the conditions above it; null when they are those of another occurrence
   */
  void addOccurrence(Map<String, Object> condition) {
    if (condition != null) conditions.add(condition);
    times++;
  }

  /** Set the only rows that the query needs; null if it may need any row. */
  void setNeeded(NeededRows rows) {
    neededRows = rows;
    needed = rows == null ? null : rows.described(leaf);
  }

  /** Name of the field of a request that says which rows the query needs, if it needs only some. */
  String neededField() {
    return neededRows.field();
  }

  /**
   * Replace the aggregate that reads the scan by its only row, if an index knows the row.
   *
   * @param answer Python's answer about the scan
   * @param replaced gets what replaces the aggregate
   */
  void answer(Map<String, Object> answer, Map<LogicalPlan, LogicalPlan> replaced) {
    LogicalPlan row = allRowsKnown ? neededRows.answered(answer) : null;
    if (row == null) return;
    replaced.put(neededRows.aggregate(), row);
    outcome.readNothing();
  }

  /** True when the scan occurs once in the plan. */
  public boolean occursOnce() {
    return times == 1;
  }

  /** The condition on the rows that the query needs. */
  Map<String, Object> filter() {
    return changedRows != null ? changedRows : ScanSearch.node("or", conditions);
  }

  /** True when indexes have answered every condition on the rows that the query needs. */
  boolean isExact() {
    // first rows are known only below conditions that are understood as a whole
    return above.isEmpty() || firstRowsKnown;
  }

  /** True when a command replaces the files that the scan reads. */
  public boolean isRewritten() {
    return changedRows != null;
  }

  /** The keys of joins above the only occurrence, as conditions. */
  public List<Map<String, Object>> keys() {
    return keys;
  }

  /** Paths of the columns that indexes begin with; null while they are unknown. */
  public List<List<String>> leading() {
    return leading;
  }

  /** True when an index of the table may name some rows of a data file. */
  public boolean hasRowBlocks() {
    return rowBlocks;
  }

  /** Number of data files that the scan reads, as pruned so far. */
  public int files() {
    return outcome.read;
  }

  /** True when the table format does not allow the scan to be pruned. */
  public boolean isRefused() {
    return outcome.refusal != null;
  }

  /** Add to the report why the scan was not pruned, or not by the keys of a join. */
  public void skipped(String code, String detail) {
    outcome.skipped(code, detail);
  }

  /**
   * Return a condition that every needed row of the scan fulfils, or null.
   *
   * @param answer Python's answer about the scan
   */
  Expression condition(Map<String, Object> answer) {
    return neededRows instanceof FirstRows first ? first.condition(answer) : null;
  }

  /**
   * Replace the leaf below the filters and projections.
   *
   * @param leaves what replaces the leaf, if it has an entry
   * @param condition a filter right above the leaf, or null
   * @param replaced gets what replaces the topmost node
   * @return the leaf from now on
   */
  LogicalPlan replaceLeaf(
      Map<LogicalPlan, LogicalPlan> leaves,
      Expression condition,
      Map<LogicalPlan, LogicalPlan> replaced) {
    LogicalPlan other = leaves.get(leaf);
    if (other == null && condition == null) return leaf;
    // a leaf that was changed in place is copied: it would be replaced in its replacement again
    if (other == null) other = leaf.clone();
    leaves.put(leaf, condition == null ? other : new Filter(condition, other));
    replaced.put(top, top == leaf ? leaves.get(leaf) : top.transformDown(new Replacement(leaves)));
    return other;
  }
}
