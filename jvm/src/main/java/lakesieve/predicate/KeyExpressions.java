package lakesieve.predicate;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import lakesieve.predicate.ExpressionTree.RefusedException;
import lakesieve.spark.ClassicSessions;
import lakesieve.spark.Scala;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;

/** Describes SQL texts over the columns of a table: keys of indexes, and conditions. */
public final class KeyExpressions {
  private static final ObjectMapper JSON = new ObjectMapper();

  private KeyExpressions() {}

  /**
   * Describe an expression as JSON: its tree and type, or why it cannot be a key.
   *
   * @param rows rows with the columns of the table; they are not read
   * @throws Exception Spark's own, if the text is no expression over these columns
   */
  public static String describe(Dataset<Row> rows, String sql) throws Exception {
    Dataset<Row> selected = columns(rows).select(functions.expr(sql).as("key"));
    Map<String, Object> description = new LinkedHashMap<>();
    try {
      // before the optimizer, which replaces some functions by their value of this moment
      treeOf(ClassicSessions.analyzed(selected));
      Tree tree = treeOf(ClassicSessions.optimized(selected));
      description.put("tree", tree.nodes());
      describe(tree.type(), description);
    } catch (RefusedException e) {
      description.put("refused", e.getMessage());
    }
    return JSON.writeValueAsString(description);
  }

  /**
   * Return a condition as the rule sees it above a scan, as JSON for Python.
   *
   * @param rows rows with the columns of the table; they are not read
   */
  public static String condition(Dataset<Row> rows, String sql) throws IOException {
    LogicalPlan plan = ClassicSessions.optimized(columns(rows).where(functions.expr(sql)));
    if (!(plan instanceof Filter filter) || !filter.child().children().isEmpty()) {
      return JSON.writeValueAsString(Conditions.unknown(sql));
    }
    LeafColumns columns = LeafColumns.of(filter.child());
    return JSON.writeValueAsString(Conditions.of(filter.condition(), columns));
  }

  private record Tree(List<Object> nodes, DataType type) {}

  /** Return rows with the same columns that the optimizer does not know to be none. */
  private static Dataset<Row> columns(Dataset<Row> rows) {
    SparkSession spark = rows.sparkSession();
    JavaSparkContext context = new JavaSparkContext(spark.sparkContext());
    return spark.createDataFrame(context.<Row>emptyRDD(), rows.schema());
  }

  private static Tree treeOf(LogicalPlan plan) throws RefusedException {
    boolean isPlain =
        plan instanceof Project project
            && project.child().children().isEmpty()
            && project.subqueries().isEmpty()
            && project.projectList().size() == 1;
    if (!isPlain) throw new RefusedException("an aggregate, a window, a generator or a subquery");
    NamedExpression named = Scala.list(((Project) plan).projectList()).get(0);
    Expression e = (Expression) named;
    while (e instanceof Alias alias) e = alias.child();
    LeafColumns columns = LeafColumns.of(((Project) plan).child());
    if (columns.field(e) != null) throw new RefusedException("a column as an expression");
    return new Tree(ExpressionTree.of(e, columns), e.dataType());
  }

  private static void describe(DataType type, Map<String, Object> description) {
    KeyType key = KeyType.of(type);
    description.put("type", type.simpleString());
    description.put("kind", key.name());
    description.put("scale", key.scale());
    if (type instanceof DecimalType decimal) description.put("precision", decimal.precision());
  }
}
