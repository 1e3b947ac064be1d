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
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.MapType;

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
      // such as the DESC of an order
      if (parsed(rows, sql) instanceof Alias) throw new RefusedException("a name for its value");
      // before the optimizer, which replaces some functions by their value of this moment
      treeOf(ClassicSessions.analyzed(selected));
      Tree tree = treeOf(ClassicSessions.optimized(selected));
      description.put("tree", tree.nodes());
      description.put("columns", List.of(described(tree.type())));
    } catch (RefusedException e) {
      description.put("refused", e.getMessage());
    }
    return JSON.writeValueAsString(description);
  }

  /**
   * Describe keys of which a row may have many as JSON: their tree and types, or why they cannot be
   * keys.
   *
   * @param rows rows with the columns of the table; they are not read
   * @param parts what the keys are: elements of a list, entries of a map or words of a text
   * @param sql the list, map or text, which must be a column or a field of a struct
   * @throws Exception Spark's own, if the text is no expression over these columns
   */
  public static String describeMany(Dataset<Row> rows, String parts, String sql) throws Exception {
    Dataset<Row> selected = columns(rows).select(functions.expr(sql).as("key"));
    Map<String, Object> description = new LinkedHashMap<>();
    try {
      Selected source = selected(ClassicSessions.analyzed(selected));
      List<Object> tree = source.columns().tree(parts, source.expression());
      if (tree == null) throw new RefusedException("anything but a column or a field of a struct");
      DataType type = source.expression().dataType();
      List<DataType> types = partTypes(parts, type);
      boolean isKnown = !types.isEmpty() && types.stream().allMatch(e -> KeyType.of(e) != null);
      if (!isKnown) throw new RefusedException("a column of type " + type.simpleString());
      description.put("tree", tree);
      description.put("columns", types.stream().map(KeyExpressions::described).toList());
    } catch (RefusedException e) {
      description.put("refused", e.getMessage());
    }
    return JSON.writeValueAsString(description);
  }

  private static List<DataType> partTypes(String parts, DataType type) {
    if (type instanceof ArrayType list && parts.equals("elements")) {
      return List.of(list.elementType());
    }
    KeyType key = KeyType.of(type);
    if (parts.equals("words") && key != null && key.name().equals("string")) return List.of(type);
    boolean isMap = parts.equals("entries") && type instanceof MapType;
    return isMap ? List.of(((MapType) type).keyType(), ((MapType) type).valueType()) : List.of();
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

  private static Expression parsed(Dataset<Row> rows, String sql) throws Exception {
    return ClassicSessions.state(rows.sparkSession()).sqlParser().parseExpression(sql);
  }

  private record Selected(Expression expression, LeafColumns columns) {}

  private record Tree(List<Object> nodes, DataType type) {}

  /** Return rows with the same columns that the optimizer does not know to be none. */
  private static Dataset<Row> columns(Dataset<Row> rows) {
    SparkSession spark = rows.sparkSession();
    JavaSparkContext context = new JavaSparkContext(spark.sparkContext());
    return spark.createDataFrame(context.<Row>emptyRDD(), rows.schema());
  }

  private static Tree treeOf(LogicalPlan plan) throws RefusedException {
    Selected selected = selected(plan);
    Expression e = selected.expression();
    if (selected.columns().field(e) != null)
      throw new RefusedException("a column as an expression");
    return new Tree(ExpressionTree.of(e, selected.columns()), e.dataType());
  }

  /** Return the only expression of a projection that a row's columns alone decide. */
  private static Selected selected(LogicalPlan plan) throws RefusedException {
    boolean isPlain =
        plan instanceof Project project
            && project.child().children().isEmpty()
            && project.subqueries().isEmpty()
            && project.projectList().size() == 1;
    if (!isPlain) throw new RefusedException("an aggregate, a window, a generator or a subquery");
    NamedExpression named = Scala.list(((Project) plan).projectList()).get(0);
    Expression e = (Expression) named;
    while (e instanceof Alias alias) e = alias.child();
    return new Selected(e, LeafColumns.of(((Project) plan).child()));
  }

  private static Map<String, Object> described(DataType type) {
    KeyType key = KeyType.of(type);
    Map<String, Object> description = new LinkedHashMap<>();
    description.put("type", type.simpleString());
    description.put("kind", key.name());
    description.put("scale", key.scale());
    if (type instanceof DecimalType decimal) description.put("precision", decimal.precision());
    return description;
  }
}
