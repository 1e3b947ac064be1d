package lakesieve.predicate;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import lakesieve.spark.Scala;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Explode;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.PosExplode;
import org.apache.spark.sql.catalyst.expressions.UnaryExpression;
import org.apache.spark.sql.catalyst.plans.logical.Generate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.MapType;

/**
 * The condition that some element of a list, or some entry of a map, meets the conditions above a
 * node that makes a row of each.
 *
 * <p>A row below the node is needed only if it is true. A node that keeps rows without elements
 * makes a row of nulls of each. The planner reads every file for a condition that null meets.
 */
public final class ExplodedCondition {
  private final Expression parts;
  private final Map<String, Object> ofOne;
  private final String text;

  private ExplodedCondition(Expression parts, Map<String, Object> ofOne, String text) {
    this.parts = parts;
    this.ofOne = ofOne;
    this.text = text;
  }

  /** True for a node that makes a row of each element of a list or of each entry of a map. */
  public static boolean isMadeBy(LogicalPlan n) {
    return n instanceof Generate generate
        && (generate.generator() instanceof Explode || generate.generator() instanceof PosExplode)
        && ((Expression) generate.generator()).deterministic();
  }

  /**
   * Return the condition, or null if nothing above the node asks for elements or entries.
   *
   * @param generate a node of which {@link #isMadeBy} is true
   * @param above the conditions right above it
   */
  public static ExplodedCondition of(Generate generate, List<Expression> above) {
    List<Attribute> output = new ArrayList<>(Scala.list(generate.generatorOutput()));
    Expression parts = ((UnaryExpression) generate.generator()).child();
    List<String> names = names(parts);
    // the place of an element stands before it
    int places = output.size() - names.size();
    if (names.isEmpty() || places < 0) return null;
    Map<ExprId, String> byId = new HashMap<>();
    for (int at = 0; at < names.size(); at++) {
      byId.put(output.get(places + at).exprId(), names.get(at));
    }
    List<Expression> own = above.stream().filter(e -> asksFor(byId.keySet(), e)).toList();
    if (own.isEmpty()) return null;
    LeafColumns columns = LeafColumns.ofParts(byId);
    Map<String, Object> ofOne = Conditions.condition("and");
    ofOne.put("args", own.stream().map(e -> Conditions.of(e, columns)).toList());
    String text = own.stream().map(Conditions::text).collect(Collectors.joining(" AND "));
    return new ExplodedCondition(parts, ofOne, text);
  }

  private static List<String> names(Expression parts) {
    if (parts.dataType() instanceof ArrayType) return List.of(ElementConditions.VALUE);
    return parts.dataType() instanceof MapType
        ? List.of(MapEntries.KEY, MapEntries.VALUE)
        : List.of();
  }

  private static boolean asksFor(Set<ExprId> parts, Expression condition) {
    return Scala.list(condition.references().toSeq()).stream()
        .anyMatch(attribute -> parts.contains(attribute.exprId()));
  }

  /** Return the condition below a projection, or null if the list or map may differ there. */
  public ExplodedCondition below(Project project) {
    Expression below = new ProjectedColumns(project).below(parts);
    return below == null ? null : new ExplodedCondition(below, ofOne, text);
  }

  /** Return the condition over the columns of a leaf. If none can be said, every row meets it. */
  public Map<String, Object> on(LeafColumns columns) {
    boolean isMap = parts.dataType() instanceof MapType;
    Map<String, Object> condition =
        isMap
            ? MapEntries.someEntry(parts, ofOne, text, columns)
            : ElementConditions.any(parts, ofOne, text, columns);
    return condition == null ? Conditions.unknown(text) : condition;
  }
}
