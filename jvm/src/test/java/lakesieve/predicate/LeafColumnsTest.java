package lakesieve.predicate;

import static lakesieve.predicate.Expressions.cast;
import static lakesieve.predicate.Expressions.column;
import static lakesieve.predicate.Expressions.field;
import static lakesieve.predicate.Expressions.literal;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.List;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.KnownFloatingPointNormalized;
import org.apache.spark.sql.catalyst.optimizer.NormalizeNaNAndZero;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;

class LeafColumnsTest {
  private static List<String> path(AttributeReference column, Expression e) {
    return new LeafColumns(List.of(column)).path(e);
  }

  private static StructType struct(String name, DataType type) {
    return new StructType(new StructField[] {DataTypes.createStructField(name, type, true)});
  }

  /** A column of the leaf has its name, also where two names differ by case alone. */
  @Test
  void columnsHaveTheirNames() {
    AttributeReference small = column("a", DataTypes.LongType);
    AttributeReference large = column("A", DataTypes.LongType);
    LeafColumns columns = new LeafColumns(List.of(small, large));
    assertEquals(List.of("a"), columns.path(small));
    assertEquals(List.of("A"), columns.path(large));
    // a query may write a name in another case
    assertEquals(List.of("a"), columns.path(small.withName("A")));
  }

  /** A column of another leaf is none of this one, and neither is one under another name. */
  @Test
  void otherColumnsHaveNone() {
    AttributeReference known = column("a", DataTypes.LongType);
    assertNull(path(known, column("a", DataTypes.LongType)));
    assertNull(path(known, known.withName("b")));
    assertNull(path(known, literal(1L, DataTypes.LongType)));
  }

  /** A field is named by the way to it, however deep and whatever is in its names. */
  @Test
  void fieldsAreNamedFromTheTop() {
    StructType inner = struct("x.y", DataTypes.LongType);
    AttributeReference top = column("s", struct("t", inner));
    Expression nested = field(field(top, 0), 0);
    assertEquals(List.of("s", "t", "x.y"), path(top, nested));
    assertNull(path(top, field(column("s", struct("t", inner)), 0)));
  }

  /** A cast between integers, or from float to double, counts only where it widens. */
  @Test
  void wideningCastsAreLookedThrough() {
    List<DataType> integers =
        List.of(DataTypes.ByteType, DataTypes.ShortType, DataTypes.IntegerType, DataTypes.LongType);
    for (DataType from : integers) {
      for (DataType to : integers) {
        AttributeReference column = column("a", from);
        boolean widens = integers.indexOf(from) < integers.indexOf(to);
        assertEquals(widens ? List.of("a") : null, path(column, cast(column, to)));
      }
    }
    AttributeReference single = column("f", DataTypes.FloatType);
    assertEquals(List.of("f"), path(single, cast(single, DataTypes.DoubleType)));
    AttributeReference real = column("d", DataTypes.DoubleType);
    assertNull(path(real, cast(real, DataTypes.FloatType)));
  }

  /** Casts that change what is compared make a column another one. */
  @Test
  void otherCastsAreNotLookedThrough() {
    AttributeReference number = column("a", DataTypes.IntegerType);
    for (DataType to :
        List.of(
            DataTypes.DoubleType,
            DataTypes.StringType,
            DataTypes.BooleanType,
            DataTypes.createDecimalType(20, 0))) {
      assertNull(path(number, cast(number, to)), to.simpleString());
    }
    AttributeReference date = column("d", DataTypes.DateType);
    assertNull(path(date, cast(date, DataTypes.TimestampType)));
    AttributeReference money = column("m", DataTypes.createDecimalType(9, 2));
    assertNull(path(money, cast(money, DataTypes.createDecimalType(18, 2))));
    AttributeReference top = column("s", struct("x", DataTypes.IntegerType));
    assertNull(path(top, field(cast(top, struct("x", DataTypes.LongType)), 0)));
  }

  /** What Spark puts around keys of joins leaves their codes as they are. */
  @Test
  void normalizedFloatsAreLookedThrough() {
    AttributeReference real = column("d", DataTypes.DoubleType);
    Expression normalized = new KnownFloatingPointNormalized(new NormalizeNaNAndZero(real));
    assertEquals(List.of("d"), path(real, normalized));
  }
}
