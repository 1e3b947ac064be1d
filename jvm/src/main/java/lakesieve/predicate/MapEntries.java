package lakesieve.predicate;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.ElementAt;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetMapValue;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;

/**
 * Writes expression trees for the entries of a map, and for the value of a constant key in a map.
 *
 * <p>If the map of a row does not have the key, the value is null in every mode of Spark.
 */
final class MapEntries {
  /** The names of key and value in a condition on an entry. */
  static final String KEY = "key";

  static final String VALUE = "value";

  private MapEntries() {}

  /**
   * Return the condition that some entry of a map meets {@code entry}, or null if the protocol
   * cannot express it.
   */
  static Map<String, Object> someEntry(
      Expression map, Map<String, Object> entry, String text, LeafColumns columns) {
    return Conditions.some("entry", tree(map, columns), text, entry);
  }

  /** Return the tree of the entries of a map, or null if the map is not a column or a field. */
  static List<Object> tree(Expression map, LeafColumns columns) {
    return columns.tree("entries", map);
  }

  /** Return the tree of the value of a constant key in a map, or null for other expressions. */
  static List<Object> ofValue(Expression e, LeafColumns columns) {
    if (e instanceof GetMapValue value) return ofValue(value.child(), value.key(), columns);
    if (e instanceof ElementAt value && value.defaultValueOutOfBound().isEmpty()) {
      return ofValue(value.left(), value.right(), columns);
    }
    return null;
  }

  private static List<Object> ofValue(Expression map, Expression key, LeafColumns columns) {
    if (!(map.dataType() instanceof MapType type) || !(key instanceof Literal literal)) return null;
    Map<String, Object> constant = constant(type.keyType(), literal);
    List<Object> tree = constant == null ? null : tree(map, columns);
    return tree == null ? null : List.of(tree.get(0), tree.get(1), constant);
  }

  private static Map<String, Object> constant(DataType keyType, Literal literal) {
    KeyType type = KeyType.of(keyType);
    boolean isKnown = type != null && LeafColumns.isSame(keyType, literal.dataType());
    // null cannot be a key of a map
    Object encoded = isKnown && literal.value() != null ? type.encoded(literal.value()) : null;
    if (encoded == null) return null;
    Map<String, Object> constant = new LinkedHashMap<>();
    type.describe(constant);
    constant.put("value", encoded);
    return constant;
  }
}
