package lakesieve.joins;

import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import lakesieve.rule.FoundScan;
import lakesieve.rule.Replacement;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.collection.Seq;

/**
 * A scan below one side of a join, with the expressions of the other side that its columns equal.
 *
 * @param scan the scan that the keys prune
 * @param leaf the leaf that reads it
 * @param keys the columns that the join compares
 * @param filtersRows whether the keys filter the rows of the scan, too
 */
record JoinedScan(FoundScan scan, LogicalPlan leaf, List<Key> keys, boolean filtersRows) {
  /**
   * A column, and the expression that it equals.
   *
   * @param path the names that lead to the column
   * @param other the expression of the other side
   */
  record Key(List<String> path, Expression column, Expression other) {}

  /** Return the scan with other keys. */
  JoinedScan with(List<Key> others) {
    return new JoinedScan(scan, leaf, others, filtersRows);
  }

  /**
   * Give the scan the keys of the rows on the other side.
   *
   * @param output columns of the rows
   * @return the condition on the scan's own rows, or null when it has none
   * @throws UnsupportedOperationException when there is no key of a known type
   */
  Expression addKeys(Seq<Attribute> output, InternalRow[] rows) {
    Expression condition = null;
    boolean hasKeys = false;
    for (Key key : keys) {
      KeyValues values = KeyValues.of(key.other, output, rows);
      if (values == null) continue;
      hasKeys = true;
      scan.keys().add(values.condition(key.path));
      Expression one = filtersRows ? values.ofRows(key.column) : null;
      if (one != null) condition = condition == null ? one : new And(condition, one);
    }
    if (!hasKeys) throw new UnsupportedOperationException("keys of an unknown type");
    return condition;
  }

  /**
   * Filter the rows of the scan where they are read.
   *
   * @param pruned what replaces its topmost node, or null where it was changed in place or not at
   *     all
   * @param replaced other nodes by those that they replace; gets one more
   * @return the leaf below the filter: a new node, as the old one is replaced wherever it occurs
   */
  LogicalPlan filter(
      Expression condition, LogicalPlan pruned, Map<LogicalPlan, LogicalPlan> replaced) {
    LogicalPlan place = scan.adapter.inPlace() ? leaf : scan.top;
    LogicalPlan top = scan.adapter.inPlace() || pruned == null ? place : pruned;
    LogicalPlan old = top;
    while (!old.children().isEmpty()) old = old.children().apply(0);
    LogicalPlan copy = old.clone();
    Map<LogicalPlan, LogicalPlan> leaves = new IdentityHashMap<>();
    leaves.put(old, new Filter(condition, copy));
    replaced.put(place, top.transformUp(new Replacement(leaves)));
    return copy;
  }
}
