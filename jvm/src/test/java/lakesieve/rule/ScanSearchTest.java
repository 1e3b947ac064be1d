package lakesieve.rule;

import static lakesieve.predicate.Expressions.column;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import lakesieve.files.KeepSet;
import lakesieve.files.PathSet;
import lakesieve.spark.PrivateMembers;
import lakesieve.spark.Scala;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Explode;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.Distinct;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Generate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.Test;
import scala.Option;

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

  /** A list that two parts of a plan explode has the conditions of each part in another scan. */
  @Test
  void partsOfListsHaveTheirOwnConditions() {
    DataType list = DataTypes.createArrayType(DataTypes.IntegerType);
    AttributeReference element = column("x", DataTypes.IntegerType);
    LogicalPlan elements = exploded(column("l", list), element, new OneRowRelation());
    LogicalPlan five = new Filter(equal(element, 5), elements);
    LogicalPlan six = new Filter(equal(element, 6), elements);
    LogicalPlan hidden = new Filter(equal(element, 7), new Distinct(elements));
    LogicalPlan plan = new Union(Scala.seq(List.of(five, six, hidden)), false, false);

    List<FoundScan> scans = new ScanSearch(List.of(new OneRowScans())).scans(plan);

    assertSame(five, scans.get(0).top);
    assertSame(six, scans.get(1).top);
    assertSame(elements, scans.get(2).top);
    assertEquals(asked("x = 5"), scans.get(0).filter());
    assertEquals(asked("x = 6"), scans.get(1).filter());
    assertEquals(asked(), scans.get(2).filter());
  }

  private static Expression equal(Expression column, int value) {
    return new EqualTo(column, new Literal(value, DataTypes.IntegerType));
  }

  private static LogicalPlan exploded(Expression list, Attribute element, LogicalPlan child) {
    List<Attribute> output = List.of(element);
    return new Generate(
        new Explode(list), Scala.seq(List.of()), false, Option.empty(), Scala.seq(output), child);
  }

  /** The condition of a scan whose conditions are not known. */
  private static Map<String, Object> asked(String... texts) {
    List<Map<String, Object>> unknown =
        Arrays.stream(texts)
            .map(text -> Map.<String, Object>of("op", "unknown", "text", text))
            .toList();
    return ScanSearch.node("or", List.of(ScanSearch.node("and", unknown)));
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
