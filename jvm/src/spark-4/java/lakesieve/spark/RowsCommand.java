package lakesieve.spark;

import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.execution.command.RunnableCommand;
import scala.Enumeration;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/** A command that returns rows. It hides {@code Seq}, whose type differs between versions. */
public abstract class RowsCommand extends LogicalPlan implements RunnableCommand {
  private static final long serialVersionUID = 1;

  /** Return the columns of the rows. A copy of the command must return the same objects. */
  protected abstract List<Attribute> attributes();

  /** Run the command, and return its rows. */
  protected abstract List<Row> rows(SparkSession spark) throws Exception;

  @Override
  public final Seq<Row> run(SparkSession spark) {
    try {
      return Scala.seq(rows(spark));
    } catch (Exception e) {
      throw Unchecked.<RuntimeException>of(e);
    }
  }

  @Override
  public final Seq<Attribute> output() {
    return Scala.seq(attributes());
  }

  @Override
  public final Seq<LogicalPlan> children() {
    return Scala.seq(List.of());
  }

  @Override
  public final LogicalPlan withNewChildrenInternal(IndexedSeq<LogicalPlan> children) {
    return this;
  }

  @Override
  public final Seq<Enumeration.Value> nodePatterns() {
    return Scala.seq(List.of(TreePattern.COMMAND()));
  }

  /** Do nothing: the patterns are constant. Scala calls this to set them. */
  @Override
  @SuppressWarnings("checkstyle:MethodName")
  public final void org$apache$spark$sql$catalyst$plans$logical$Command$_setter_$nodePatterns_$eq(
      Seq<Enumeration.Value> patterns) {}
}
