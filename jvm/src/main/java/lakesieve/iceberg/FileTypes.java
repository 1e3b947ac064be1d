package lakesieve.iceberg;

import java.util.ArrayList;
import java.util.List;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.parquet.schema.GroupType;
import org.apache.parquet.schema.LogicalTypeAnnotation;
import org.apache.parquet.schema.PrimitiveType;
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName;
import org.apache.parquet.schema.Type.Repetition;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Compares the columns of Parquet files with those of an Iceberg table.
 *
 * <p>A column is the same if the file has it under its field id, with the type that Iceberg writes
 * for the table's type, and if this is so for the fields, elements, keys and values in it.
 */
final class FileTypes {
  private FileTypes() {}

  /** Return true for a type whose values Spark's Parquet reader returns as Iceberg's does. */
  static boolean isSupported(Type type) {
    return switch (type.typeId()) {
      case STRUCT, LIST, MAP ->
          type.asNestedType().fields().stream().allMatch(field -> isSupported(field.type()));
      case BOOLEAN, INTEGER, LONG, FLOAT, DOUBLE, DATE, TIMESTAMP, STRING, BINARY, DECIMAL -> true;
      default -> false;
    };
  }

  /** Return why a column of a file is not the wanted one, or null. */
  static String problem(NestedField wanted, GroupType file) {
    var found = field(file, wanted.fieldId());
    if (found == null) return "they lack the column " + wanted.name();
    return isSame(wanted.type(), found)
        ? null
        : wanted.name() + " has another type in them than in the table";
  }

  /**
   * Return true where Iceberg returns nulls for a column that a file lacks.
   *
   * <p>Files without field ids may have the column under its name.
   */
  static boolean isNull(NestedField wanted, GroupType file) {
    return wanted.isOptional()
        && wanted.initialDefault() == null
        && file.getFields().stream().allMatch(field -> field.getId() != null)
        && !has(file, wanted.fieldId());
  }

  /** Return true if a group has a field with an id. */
  static boolean has(GroupType group, int id) {
    return group.getFields().stream().anyMatch(field -> is(field, id));
  }

  private static boolean is(org.apache.parquet.schema.Type field, int id) {
    return field.getId() != null && field.getId().intValue() == id;
  }

  /** Return the field of a group with an id; null if no field or several fields have it. */
  private static org.apache.parquet.schema.Type field(GroupType group, int id) {
    var found = group.getFields().stream().filter(field -> is(field, id)).toList();
    return found.size() == 1 ? found.get(0) : null;
  }

  private static boolean isSame(Type wanted, org.apache.parquet.schema.Type found) {
    if (found.isRepetition(Repetition.REPEATED)) return false;
    if (found.isPrimitive()) {
      return wanted.isPrimitiveType() && isSame(wanted, found.asPrimitiveType());
    }
    GroupType group = found.asGroupType();
    LogicalTypeAnnotation annotation = group.getLogicalTypeAnnotation();
    return switch (wanted.typeId()) {
      case STRUCT -> annotation == null && hasFields(wanted, group);
      case LIST ->
          LogicalTypeAnnotation.listType().equals(annotation) && hasFields(wanted, repeated(group));
      case MAP ->
          LogicalTypeAnnotation.mapType().equals(annotation) && hasFields(wanted, repeated(group));
      default -> false;
    };
  }

  /** Return the group of a list's elements or of a map's entries, or null. */
  private static GroupType repeated(GroupType group) {
    if (group.getFieldCount() != 1) return null;
    var only = group.getType(0);
    boolean isRepeated = only.isRepetition(Repetition.REPEATED);
    return isRepeated && !only.isPrimitive() ? only.asGroupType() : null;
  }

  private static boolean hasFields(Type wanted, GroupType group) {
    if (group == null) return false;
    List<NestedField> fields = wanted.asNestedType().fields();
    if (!wanted.isStructType() && fields.size() != group.getFieldCount()) return false;
    return fields.stream().allMatch(field -> problem(field, group) == null);
  }

  private static boolean isSame(Type wanted, PrimitiveType found) {
    LogicalTypeAnnotation annotation = found.getLogicalTypeAnnotation();
    return switch (wanted.typeId()) {
      case BOOLEAN -> is(found, PrimitiveTypeName.BOOLEAN, null);
      case INTEGER -> is(found, PrimitiveTypeName.INT32, annotation == null ? null : signed(32));
      case LONG -> is(found, PrimitiveTypeName.INT64, annotation == null ? null : signed(64));
      case FLOAT -> is(found, PrimitiveTypeName.FLOAT, null);
      case DOUBLE -> is(found, PrimitiveTypeName.DOUBLE, null);
      case DATE -> is(found, PrimitiveTypeName.INT32, LogicalTypeAnnotation.dateType());
      case TIMESTAMP ->
          is(
              found,
              PrimitiveTypeName.INT64,
              LogicalTypeAnnotation.timestampType(
                  ((Types.TimestampType) wanted).shouldAdjustToUTC(),
                  LogicalTypeAnnotation.TimeUnit.MICROS));
      case STRING -> is(found, PrimitiveTypeName.BINARY, LogicalTypeAnnotation.stringType());
      case BINARY -> is(found, PrimitiveTypeName.BINARY, null);
      case DECIMAL -> isSame((Types.DecimalType) wanted, found);
      default -> false;
    };
  }

  private static boolean isSame(Types.DecimalType wanted, PrimitiveType found) {
    int digits = wanted.precision();
    var annotation = LogicalTypeAnnotation.decimalType(wanted.scale(), digits);
    if (digits <= 9) return is(found, PrimitiveTypeName.INT32, annotation);
    if (digits <= 18) return is(found, PrimitiveTypeName.INT64, annotation);
    return is(found, PrimitiveTypeName.FIXED_LEN_BYTE_ARRAY, annotation)
        && found.getTypeLength() == org.apache.iceberg.types.TypeUtil.decimalRequiredBytes(digits);
  }

  private static boolean is(
      PrimitiveType found, PrimitiveTypeName primitive, LogicalTypeAnnotation annotation) {
    LogicalTypeAnnotation own = found.getLogicalTypeAnnotation();
    return found.getPrimitiveTypeName() == primitive
        && (annotation == null ? own == null : annotation.equals(own));
  }

  private static LogicalTypeAnnotation signed(int bits) {
    return LogicalTypeAnnotation.intType(bits, true);
  }

  /** Return a column as Spark's Parquet reader finds it by its field id, whatever its name is. */
  static StructField withIds(StructField column, NestedField field) {
    Metadata id = new MetadataBuilder().putLong("parquet.field.id", field.fieldId()).build();
    return new StructField(column.name(), withIds(column.dataType(), field.type()), true, id);
  }

  private static DataType withIds(DataType type, Type wanted) {
    if (type instanceof StructType struct) {
      List<NestedField> fields = wanted.asStructType().fields();
      List<StructField> all = new ArrayList<>();
      for (int at = 0; at < struct.length(); at++) {
        all.add(withIds(struct.fields()[at], fields.get(at)));
      }
      return new StructType(all.toArray(new StructField[0]));
    }
    if (type instanceof ArrayType array) {
      return new ArrayType(
          withIds(array.elementType(), wanted.asListType().elementType()), array.containsNull());
    }
    if (type instanceof MapType map) {
      Types.MapType own = wanted.asMapType();
      return new MapType(
          withIds(map.keyType(), own.keyType()),
          withIds(map.valueType(), own.valueType()),
          map.valueContainsNull());
    }
    return type;
  }
}
