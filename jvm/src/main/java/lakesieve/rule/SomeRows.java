package lakesieve.rule;

import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Offset;

/**
 * A number of rows of a node, whichever they are. {@code LIMIT} without an order needs them.
 *
 * <p>Without a condition, Spark itself stops after the first files.
 *
 * @param limit the number of rows
 * @param isFiltered whether only rows count that fulfil the conditions above the node
 * @param isOfResult whether the limit is the last step of the plan
 */
record SomeRows(int limit, boolean isFiltered, boolean isOfResult) implements NeededRows {
  /**
   * Return how many rows are needed of the children of a node, or null if any row may be needed.
   *
   * @param above the rows that are needed of the node, or null
   */
  static SomeRows below(LogicalPlan n, SomeRows above) {
    if (n instanceof GlobalLimit limit) return ofLimit(limit.limitExpr());
    if (above == null) return null;
    if (PlanNodes.passesConditions(n)) {
      boolean isFiltered = above.isFiltered || n instanceof Filter;
      return new SomeRows(above.limit, isFiltered, above.isOfResult);
    }
    // a condition above a limit selects some of its rows, so more rows may be needed below it
    if (above.isFiltered) return null;
    if (n instanceof LocalLimit local) return above.in(local);
    return n instanceof Offset offset ? above.after(offset) : null;
  }

  @Override
  public Aggregate aggregate() {
    return null;
  }

  @Override
  public LogicalPlan answered(Map<String, Object> answer) {
    return null;
  }

  @Override
  public String field() {
    return "some_rows";
  }

  @Override
  public Map<String, Object> described(LogicalPlan leaf) {
    if (!isFiltered || (isOfResult && CollectedRows.areWanted())) return null;
    return Map.of("limit", limit);
  }

  /** Return the same rows, of a limit that is the last step of the plan. */
  SomeRows ofResult() {
    return new SomeRows(limit, isFiltered, true);
  }

  private static SomeRows ofLimit(Expression limit) {
    Integer rows = count(limit);
    return rows == null || rows == 0 ? null : new SomeRows(rows, false, false);
  }

  /** Return the rows that are needed below a limit of each partition. One may have them all. */
  private SomeRows in(LocalLimit local) {
    Integer rows = count(local.limitExpr());
    return rows == null || rows < limit ? null : this;
  }

  /**
   * Return the rows that are needed below an offset: those of the limit and those that it drops.
   */
  private SomeRows after(Offset offset) {
    Integer dropped = count(offset.offsetExpr());
    return dropped == null || limit > Integer.MAX_VALUE - dropped
        ? null
        : new SomeRows(limit + dropped, false, isOfResult);
  }

  private static Integer count(Expression e) {
    boolean isKnown =
        e instanceof Literal literal && literal.value() instanceof Integer rows && rows >= 0;
    return isKnown ? (Integer) ((Literal) e).value() : null;
  }
}
