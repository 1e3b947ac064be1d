package lakesieve.predicate;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import lakesieve.spark.Scala;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.KnownFloatingPointNormalized;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedLambdaVariable;
import org.apache.spark.sql.catalyst.optimizer.NormalizeNaNAndZero;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructType;

/**
 * The columns of a leaf of a plan, identified by their expression ids.
 *
 * <p>A reference counts only if it is one of the leaf's attributes, with the leaf's name for it: a
 * projection above the leaf may swap names.
 */
public final class LeafColumns {
  private static final String VARIANT = "__VARIANT_METADATA_KEY";
  private final Map<ExprId, String> names = new HashMap<>();
  // the parts of lists and maps may have any name in the plan
  private final Map<ExprId, String> parts;

  /** Create the columns from the output attributes of a leaf. */
  public LeafColumns(Iterable<? extends Attribute> output) {
    this(Map.of());
    for (Attribute attribute : output) names.put(attribute.exprId(), attribute.name());
  }

  private LeafColumns(Map<ExprId, String> parts) {
    this.parts = parts;
  }

  /** Return the columns of a leaf. */
  public static LeafColumns of(LogicalPlan leaf) {
    return new LeafColumns(Scala.list(leaf.output()));
  }

  /** Return the variables or columns that stand for parts of a list or map, with these names. */
  static LeafColumns ofParts(Map<ExprId, String> parts) {
    return new LeafColumns(parts);
  }

  /**
   * Return the names from a column down to a field, or null when it is not a plain column.
   *
   * <p>Casts and wrappers that leave the key code of a value as it is are looked through.
   */
  public List<String> path(Expression e) {
    return field(unwrapped(e));
  }

  /** Return the names from a column down to a field, or null for any other expression. */
  List<String> field(Expression e) {
    boolean isNamed = e instanceof AttributeReference || e instanceof NamedLambdaVariable;
    String part = isNamed ? parts.get(((NamedExpression) e).exprId()) : null;
    if (part != null) return List.of(part);
    if (e instanceof AttributeReference attribute) {
      String name = names.get(attribute.exprId());
      // Spark gives a column the name that the query wrote, in the query's upper and lower case
      return attribute.name().equalsIgnoreCase(name) ? List.of(name) : null;
    }
    if (e instanceof GetStructField field) {
      List<String> parent = field(field.child());
      if (parent == null || !(field.child().dataType() instanceof StructType struct)) return null;
      if (variantField(field) != null) return null;
      List<String> path = new ArrayList<>(parent);
      path.add(struct.fields()[field.ordinal()].name());
      return path;
    }
    return null;
  }

  /**
   * Return what Spark notes about a field that the scan reads from a variant, or null for others.
   *
   * <p>Spark gives such a scan a struct of the fields that the query needs, in place of the
   * variant.
   */
  static Metadata variantField(GetStructField field) {
    if (!(field.child().dataType() instanceof StructType struct)) return null;
    Metadata metadata = struct.fields()[field.ordinal()].metadata();
    return metadata.contains(VARIANT) ? metadata.getMetadata(VARIANT) : null;
  }

  /**
   * Return the tree of the parts of a column, or null for anything but a column or a field.
   *
   * <p>The tree holds the type of the column. No value of the session changes its parts.
   *
   * @param parts what the parts are: elements of a list, entries of a map or words of a text
   */
  List<Object> tree(String parts, Expression of) {
    List<String> path = path(of);
    if (path == null) return null;
    Map<String, Object> column = new LinkedHashMap<>();
    column.put("col", path);
    column.put("type", unwrapped(of).dataType().simpleString());
    return List.of(parts, column);
  }

  /** True if both types are known and have the same codes. */
  static boolean isSame(DataType one, DataType other) {
    return one != null && other != null && one.simpleString().equals(other.simpleString());
  }

  /**
   * Return an expression without the outer casts and wrappers that leave its key codes as they are.
   */
  static Expression unwrapped(Expression e) {
    if (e instanceof Cast cast && widens(cast.child().dataType(), cast.dataType())) {
      return unwrapped(cast.child());
    }
    // Spark puts both around keys of joins; -0.0 and NaN have one key code each anyway
    if (e instanceof KnownFloatingPointNormalized normalized) return unwrapped(normalized.child());
    if (e instanceof NormalizeNaNAndZero normalized) return unwrapped(normalized.child());
    return e;
  }

  /**
   * True for casts that leave the key code of a value, or of each part of a list or map, as it is.
   */
  private static boolean widens(DataType from, DataType to) {
    if (from instanceof ArrayType list && to instanceof ArrayType wider) {
      return widens(list.elementType(), wider.elementType());
    }
    if (from instanceof MapType map && to instanceof MapType wider) {
      boolean keepsKeys = keeps(map.keyType(), wider.keyType());
      return keepsKeys && keeps(map.valueType(), wider.valueType());
    }
    if (from.simpleString().equals("float")) return to.simpleString().equals("double");
    return integerBits(from) > 0 && integerBits(from) < integerBits(to);
  }

  private static boolean keeps(DataType from, DataType to) {
    return isSame(from, to) || widens(from, to);
  }

  private static int integerBits(DataType type) {
    return switch (type.simpleString()) {
      case "tinyint" -> 8;
      case "smallint" -> 16;
      case "int" -> 32;
      case "bigint" -> 64;
      default -> 0;
    };
  }
}
