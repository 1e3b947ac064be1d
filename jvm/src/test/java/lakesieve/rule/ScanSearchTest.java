package lakesieve.rule;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import lakesieve.files.KeepSet;
import lakesieve.files.PathSet;
import lakesieve.spark.PrivateMembers;
import lakesieve.spark.Scala;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.Distinct;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.Test;

/** Which scans are found in a plan, and with which conditions. */
class ScanSearchTest {
  private static final Expression YES = new Literal(true, DataTypes.BooleanType);

  /** The search goes on with the other adapters, and says which one is missing and why. */
  @Test
  void anAdapterThatMissesAMemberIsLeftOut() {
    ScanSearch search = new ScanSearch(List.of(new BrokenScans(), new OneRowScans()));

    assertEquals(1, search.scans(new OneRowRelation()).size());
    assertEquals(1, search.unavailable().size());
    String reason = search.unavailable().get(0);
    assertTrue(reason.startsWith("BrokenScans is not available"), reason);
    assertTrue(reason.contains("java.lang.String has no accessible field nothing"), reason);
  }

  /** A leaf that occurs twice is two scans, each with the conditions right above it. */
  @Test
  void aLeafIsAScanInEachOccurrence() {
    LogicalPlan leaf = new OneRowRelation();
    LogicalPlan filtered = new Filter(YES, new Filter(YES, leaf));
    LogicalPlan hidden = new Filter(YES, new Distinct(leaf));
    LogicalPlan plan = new Union(Scala.seq(List.of(filtered, hidden)), false, false);

    List<FoundScan> scans = new ScanSearch(List.of(new OneRowScans())).scans(plan);

    assertEquals(2, scans.size());
    assertSame(filtered, scans.get(0).top);
    assertEquals(List.of(YES, YES), scans.get(0).above);
    assertSame(leaf, scans.get(1).top);
    assertEquals(List.of(), scans.get(1).above);
    assertTrue(scans.get(0).occursOnce() && scans.get(1).occursOnce());
  }

  /** Takes plans of one row for scans. */
  private static class OneRowScans extends ScanAdapter {
    @Override
    public Object scan(LogicalPlan leaf) {
      return leaf instanceof OneRowRelation ? leaf : null;
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

  /** An adapter whose library lacks a member that it needs. */
  private static final class BrokenScans extends OneRowScans {
    @Override
    public void check() {
      PrivateMembers.requireField(String.class, "nothing");
    }

    @Override
    public Object scan(LogicalPlan leaf) {
      throw new IllegalStateException("not to be called");
    }
  }
}
