package lakesieve;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** A scan below one side of a join, and what its columns equal on the other side. */
public final class ReachedScan {
  /** A column and what it equals. */
  public static final class Key {
    public final List path; // of names
    public final Expression column;
    public final Expression other; // of the other side

    public Key(List path, Expression column, Expression other) {
      this.path = path;
      this.column = column;
      this.other = other;
    }
  }

  public final FoundScan scan;
  public List keys = new ArrayList();
  public boolean filtersRows = false;
  private final LogicalPlan leaf;

  public ReachedScan(FoundScan scan, LogicalPlan leaf) {
    this.scan = scan;
    this.leaf = leaf;
  }

  /**
   * Give the scan the keys of the rows on the other side.
   *
   * @return the condition on its rows, or null when it has none
   * @throws UnsupportedOperationException when there is no key of a known type
   */
  public Expression take(scala.collection.Seq output, InternalRow[] rows) {
    Expression condition = null;
    boolean hasKeys = false;
    for (Iterator it = this.keys.iterator(); it.hasNext(); ) {
      Key key = (Key) it.next();
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
   * @param pruned what stands for its topmost node, or null where it was changed in place or not at all
   * @param replaced nodes that stand for others; gets one more
   * @return the leaf below the filter: a node of its own, as the old one is replaced wherever it stands
   */
  public LogicalPlan filter(Expression condition, LogicalPlan pruned, Map replaced) {
    LogicalPlan top = this.scan.adapter.inPlace() ? this.leaf : pruned == null ? this.scan.top : pruned;
    LogicalPlan old = top;
    while (!old.children().isEmpty()) old = (LogicalPlan) old.children().apply(0);
    LogicalPlan leaf = (LogicalPlan) old.clone();
    Map leaves = new IdentityHashMap();
    leaves.put(old, new Filter(condition, leaf));
    Object place = this.scan.adapter.inPlace() ? this.leaf : this.scan.top;
    replaced.put(place, top.transformUp(new Replacement(leaves)));
    return leaf;
  }
}
