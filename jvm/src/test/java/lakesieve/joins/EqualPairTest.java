package lakesieve.joins;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import lakesieve.spark.Scala;
import org.apache.spark.sql.catalyst.expressions.Add;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.LessThan;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.Inner$;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.JoinHint;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.junit.jupiter.api.Test;
import scala.Option;

/** Which columns of a join's sides are equal in rows that match. */
class EqualPairTest {
  private static final Expression ONE = new Literal(1L, DataTypes.LongType);

  private final Attribute a = column("a");
  private final Attribute b = column("b");

  private static Attribute column(String name) {
    return new AttributeReference(
        name,
        DataTypes.LongType,
        true,
        Metadata.empty(),
        NamedExpression.newExprId(),
        Scala.seq(List.of()));
  }

  private static LogicalPlan relation(Attribute column) {
    return new Project(Scala.seq(List.of((NamedExpression) column)), new OneRowRelation());
  }

  private Join join(Expression condition) {
    return new Join(
        relation(a), relation(b), Inner$.MODULE$, Option.apply(condition), JoinHint.NONE());
  }

  /** Pairs are ordered by side, however the condition has them; comparisons are none. */
  @Test
  void pairsAreOrderedBySide() {
    Expression condition = new And(new EqualTo(b, a), new LessThan(a, b));

    assertEquals(List.of(new EqualPair(a, b)), EqualPair.of(join(condition)));
  }

  /** A literal belongs to the side that has no column in the equality. */
  @Test
  void aLiteralIsOfEitherSide() {
    assertEquals(List.of(new EqualPair(a, ONE)), EqualPair.of(join(new EqualTo(ONE, a))));
    assertEquals(List.of(new EqualPair(ONE, b)), EqualPair.of(join(new EqualTo(ONE, b))));
    assertEquals(List.of(), EqualPair.of(join(new EqualTo(ONE, ONE))));
    assertEquals(List.of(), EqualPair.of(join(new EqualTo(a, new Add(a, b)))));
  }
}
