package lakesieve;

import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** An adapter whose library lacks a member that it needs. */
public final class BrokenScans extends ScanAdapter {
  @Override
  public void check() {
    PrivateMembers.requireField(String.class, "nothing");
  }

  @Override
  public Object scan(LogicalPlan leaf) {
    throw new IllegalStateException("not to be called");
  }

  @Override
  public Map<String, Object> describe(LogicalPlan leaf) {
    return null;
  }

  @Override
  public int fileCount(LogicalPlan leaf) {
    return 0;
  }

  @Override
  public int prune(
      LogicalPlan leaf,
      List<Expression> conditions,
      KeepSet keep,
      Map<LogicalPlan, LogicalPlan> replaced) {
    return 0;
  }

  @Override
  public void readRaw(
      LogicalPlan leaf, int stride, PathSet files, Map<LogicalPlan, LogicalPlan> replaced) {}
}
