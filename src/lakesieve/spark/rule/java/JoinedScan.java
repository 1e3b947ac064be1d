package lakesieve;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** A scan below one side of a join, and what its columns equal on the other side. */
public final class JoinedScan {
  /** A column and what it equals. */
  public static final class Key {
    public final List<String> path;
    public final Expression column;
    /** The expression of the other side. */
    public final Expression other;

    /** Make it of the path of a column, the column and what it equals. */
    public Key(List<String> path, Expression column, Expression other) {
      this.path = path;
      this.column = column;
      this.other = other;
    }
  }

  /** The scan that the keys prune. */
  public final FoundScan scan;
  /** Its columns that the join compares. */
  public List<Key> keys = new ArrayList<>();
  /** Whether the rows of the scan are filtered by the keys, too. */
  public boolean filtersRows = false;
  private final LogicalPlan leaf;

  /** Make it of a scan and its leaf. */
  public JoinedScan(FoundScan scan, LogicalPlan leaf) {
    this.scan = scan;
    this.leaf = leaf;
  }

  /**
   * Give the scan the keys of the rows on the other side.
   *
   * @return the condition on its rows, or null when it has none
   * @throws UnsupportedOperationException when there is no key of a known type
   */
  public Expression addKeys(scala.collection.Seq output, InternalRow[] rows) {
    Expression condition = null;
    boolean hasKeys = false;
    for (Key key : this.keys) {
      KeyValues values = KeyValues.of(key.other, output, rows);
      if (values == null) continue;
      hasKeys = true;
      this.scan.keys.add(values.condition(key.path));
      Expression one = this.filtersRows ? values.ofRows(key.column) : null;
      if (one != null) condition = condition == null ? one : new And(condition, one);
    }
    if (!hasKeys) throw new UnsupportedOperationException("keys of an unknown type");
    return condition;
  }

  /**
   * Filter the rows of the scan where they are read.
   *
   * @param pruned what replaces its topmost node, or null where it was changed in place or not at all
   * @param replaced other nodes by those that they replace; gets one more
   * @return the leaf below the filter: a new node, as the old one is replaced wherever it occurs
   */
  public LogicalPlan filter(
      Expression condition, LogicalPlan pruned, Map<LogicalPlan, LogicalPlan> replaced) {
    LogicalPlan place = this.scan.adapter.inPlace() ? this.leaf : this.scan.top;
    LogicalPlan top = this.scan.adapter.inPlace() || pruned == null ? place : pruned;
    LogicalPlan old = top;
    while (!old.children().isEmpty()) old = (LogicalPlan) old.children().apply(0);
    LogicalPlan leaf = (LogicalPlan) old.clone();
    Map<LogicalPlan, LogicalPlan> leaves = new IdentityHashMap<>();
    leaves.put(old, new Filter(condition, leaf));
    replaced.put(place, (LogicalPlan) top.transformUp(new Replacement(leaves)));
    return leaf;
  }
}
