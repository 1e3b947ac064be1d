package lakesieve.predicate;

import static lakesieve.predicate.Expressions.column;
import static lakesieve.predicate.Expressions.literal;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import lakesieve.spark.Scala;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Explode;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GreaterThan;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.MapKeys;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.PosExplode;
import org.apache.spark.sql.catalyst.plans.logical.Generate;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.Test;

class ExplodedConditionTest {
  private static final DataType INT = DataTypes.IntegerType;
  private static final DataType MAPS = DataTypes.createMapType(INT, INT);
  private static final AttributeReference LIST = column("l", DataTypes.createArrayType(INT));
  private static final AttributeReference MAP = column("m", MAPS);
  private static final AttributeReference NUMBER = column("n", INT);
  private static final LeafColumns COLUMNS = new LeafColumns(List.of(LIST, MAP, NUMBER));
  private static final AttributeReference X = column("x", INT);
  private static final AttributeReference Y = column("y", INT);
  private static final Literal FIVE = literal(5, INT);
  private static final List<Object> ELEMENTS =
      List.of("elements", Map.of("col", List.of("l"), "type", "array<int>"));
  private static final List<Object> ENTRIES =
      List.of("entries", Map.of("col", List.of("m"), "type", "map<int,int>"));

  private static Generate rows(Expression generator, Attribute... output) {
    var parts = (org.apache.spark.sql.catalyst.expressions.Generator) generator;
    var none = scala.Option.<String>empty();
    return new Generate(
        parts, Scala.seq(List.of()), false, none, Scala.seq(List.of(output)), new OneRowRelation());
  }

  private static Map<String, Object> equal(String name) {
    return Map.of("op", "=", "col", List.of(name), "type", "integer", "value", "5");
  }

  private static Map<String, Object> some(
      String op, List<Object> tree, String text, List<Map<String, Object>> args) {
    Map<String, Object> arg = Map.of("op", "and", "args", args);
    return Map.of("op", op, "expr", Map.of("tree", tree, "text", text), "arg", arg);
  }

  /** Conditions on an element become one condition that some element of the list meets. */
  @Test
  void elements() {
    Expression equal = new EqualTo(X, FIVE);
    var expected = some("any", ELEMENTS, "x = 5", List.of(equal("value")));
    Generate plain = rows(new Explode(LIST), X);
    assertEquals(expected, ExplodedCondition.of(plain, List.of(equal)).on(COLUMNS));
    Generate places = rows(new PosExplode(LIST), Y, X);
    assertEquals(expected, ExplodedCondition.of(places, List.of(equal)).on(COLUMNS));
    Expression above = new GreaterThan(X, NUMBER);
    Map<String, Object> unknown = Map.of("op", "unknown", "text", "x > n");
    var both = some("any", ELEMENTS, "x = 5 AND x > n", List.of(equal("value"), unknown));
    assertEquals(both, ExplodedCondition.of(plain, List.of(equal, above)).on(COLUMNS));
  }

  /** Conditions on the key and the value of an entry meet in one entry. */
  @Test
  void entries() {
    List<Expression> conditions = List.of(new EqualTo(X, FIVE), new EqualTo(Y, FIVE));
    var args = List.of(equal("key"), equal("value"));
    var expected = some("entry", ENTRIES, "x = 5 AND y = 5", args);
    Generate plain = rows(new Explode(MAP), X, Y);
    assertEquals(expected, ExplodedCondition.of(plain, conditions).on(COLUMNS));
    Generate places = rows(new PosExplode(MAP), NUMBER, X, Y);
    assertEquals(expected, ExplodedCondition.of(places, conditions).on(COLUMNS));
    Generate keys = rows(new Explode(new MapKeys(MAP)), X);
    var ofKeys = some("any", ENTRIES, "x = 5", List.of(equal("value")));
    assertEquals(ofKeys, ExplodedCondition.of(keys, conditions.subList(0, 1)).on(COLUMNS));
  }

  /** The list may have another name above a projection. */
  @Test
  void projections() {
    Alias alias =
        new Alias(
            LIST,
            "other",
            NamedExpression.newExprId(),
            Scala.seq(List.of()),
            scala.Option.empty(),
            Scala.seq(List.of()));
    Generate generate = rows(new Explode(alias.toAttribute()), X);
    ExplodedCondition other = ExplodedCondition.of(generate, List.of(new EqualTo(X, FIVE)));
    assertEquals(Map.of("op", "unknown", "text", "x = 5"), other.on(COLUMNS));
    List<NamedExpression> columns = List.of(alias);
    Project project = new Project(Scala.seq(columns), new OneRowRelation());
    var expected = some("any", ELEMENTS, "x = 5", List.of(equal("value")));
    assertEquals(expected, other.below(project).on(COLUMNS));
  }

  /** Conditions on other columns ask for no element, and other nodes are not read. */
  @Test
  void otherForms() {
    Generate plain = rows(new Explode(LIST), X);
    assertNull(ExplodedCondition.of(plain, List.of()));
    assertNull(ExplodedCondition.of(plain, List.of(new EqualTo(NUMBER, FIVE))));
    assertTrue(ExplodedCondition.isMadeBy(plain));
    assertFalse(ExplodedCondition.isMadeBy(new OneRowRelation()));
    Expression other = new org.apache.spark.sql.catalyst.expressions.Inline(LIST);
    assertFalse(ExplodedCondition.isMadeBy(rows(other, X)));
  }
}
