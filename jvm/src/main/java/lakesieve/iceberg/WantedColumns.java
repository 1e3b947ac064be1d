package lakesieve.iceberg;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.Schema;
import org.apache.iceberg.types.Types;
import org.apache.parquet.hadoop.metadata.FileMetaData;
import org.apache.parquet.schema.LogicalTypeAnnotation;
import org.apache.parquet.schema.PrimitiveType;
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName;
import org.apache.parquet.schema.Type;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * The columns that a scan reads, where Spark's Parquet reader returns the same values as Iceberg's.
 *
 * <p>That is so for columns of simple types that are in the file under their field ids, with the
 * type that Iceberg writes for the table's own type. Nothing is converted, and nothing is filled
 * in.
 */
final class WantedColumns implements Serializable {
  private static final long serialVersionUID = 1;

  // Spark converts old dates in some of the files that it has written itself
  private static final String WRITTEN_BY_SPARK = "org.apache.spark.";

  private final List<Column> columns;

  /**
   * One column.
   *
   * @param id its field id
   * @param types the types of the file's column that are read without a conversion
   */
  private record Column(int id, String name, List<ParquetType> types) implements Serializable {}

  /**
   * A type of Parquet.
   *
   * @param length in bytes, 0 unless it is fixed
   * @param annotation as Parquet spells it, or null
   */
  private record ParquetType(String primitive, int length, String annotation)
      implements Serializable {
    static ParquetType of(PrimitiveTypeName primitive, LogicalTypeAnnotation annotation) {
      return new ParquetType(
          primitive.name(), 0, annotation == null ? null : annotation.toString());
    }

    static ParquetType of(PrimitiveType type) {
      boolean isFixed = type.getPrimitiveTypeName() == PrimitiveTypeName.FIXED_LEN_BYTE_ARRAY;
      LogicalTypeAnnotation annotation = type.getLogicalTypeAnnotation();
      return new ParquetType(
          type.getPrimitiveTypeName().name(),
          isFixed ? type.getTypeLength() : 0,
          annotation == null ? null : annotation.toString());
    }
  }

  private WantedColumns(List<Column> columns) {
    this.columns = columns;
  }

  /** Return why not all columns of a scan are simple, or null. */
  static String problem(Schema projection) {
    if (projection.columns().isEmpty()) return "no column is read";
    for (Types.NestedField field : projection.columns()) {
      if (MetadataColumns.isMetadataColumn(field.fieldId())
          || MetadataColumns.isMetadataColumn(field.name())) {
        return "the metadata column " + field.name() + " is read";
      }
      if (types(field.type()).isEmpty()) return field.name() + " has the type " + field.type();
    }
    return null;
  }

  /** Return the columns of a scan without a {@link #problem}. */
  static WantedColumns of(Schema projection) {
    List<Column> columns = new ArrayList<>();
    for (Types.NestedField field : projection.columns()) {
      columns.add(new Column(field.fieldId(), field.name(), types(field.type())));
    }
    return new WantedColumns(columns);
  }

  /** Return why a file's columns are not the wanted ones, or null. */
  String problem(FileMetaData file) {
    for (Map.Entry<String, String> entry : file.getKeyValueMetaData().entrySet()) {
      if (entry.getKey().startsWith(WRITTEN_BY_SPARK)) return "they were not written by Iceberg";
    }
    for (Column column : columns) {
      Type found = null;
      for (Type type : file.getSchema().getFields()) {
        if (type.getId() == null || type.getId().intValue() != column.id()) continue;
        if (found != null) return "two columns have the field id of " + column.name();
        found = type;
      }
      if (found == null) return "they lack the column " + column.name();
      boolean isSame =
          found.isPrimitive()
              && !found.isRepetition(Type.Repetition.REPEATED)
              && column.types().contains(ParquetType.of(found.asPrimitiveType()));
      if (!isSame) return column.name() + " has another type in them than in the table";
    }
    return null;
  }

  /**
   * Return columns as Spark finds them by their field ids.
   *
   * @param read the columns in the same order, as the scan returns them
   */
  static StructType withIds(Schema projection, StructType read) {
    StructField[] fields = new StructField[read.length()];
    for (int at = 0; at < fields.length; at++) {
      StructField field = read.fields()[at];
      int id = projection.columns().get(at).fieldId();
      var metadata = new MetadataBuilder().putLong("parquet.field.id", id).build();
      fields[at] = new StructField(field.name(), field.dataType(), true, metadata);
    }
    return new StructType(fields);
  }

  /** Return the types that files have for a type of Iceberg's; none where values may differ. */
  private static List<ParquetType> types(org.apache.iceberg.types.Type type) {
    return switch (type.typeId()) {
      case BOOLEAN -> List.of(ParquetType.of(PrimitiveTypeName.BOOLEAN, null));
      case INTEGER -> integers(PrimitiveTypeName.INT32, 32);
      case LONG -> integers(PrimitiveTypeName.INT64, 64);
      case FLOAT -> List.of(ParquetType.of(PrimitiveTypeName.FLOAT, null));
      case DOUBLE -> List.of(ParquetType.of(PrimitiveTypeName.DOUBLE, null));
      case DATE ->
          List.of(ParquetType.of(PrimitiveTypeName.INT32, LogicalTypeAnnotation.dateType()));
      case TIMESTAMP -> List.of(microseconds(((Types.TimestampType) type).shouldAdjustToUTC()));
      case STRING ->
          List.of(ParquetType.of(PrimitiveTypeName.BINARY, LogicalTypeAnnotation.stringType()));
      case BINARY -> List.of(ParquetType.of(PrimitiveTypeName.BINARY, null));
      case DECIMAL -> List.of(decimal((Types.DecimalType) type));
      default -> List.of();
    };
  }

  private static List<ParquetType> integers(PrimitiveTypeName primitive, int bits) {
    return List.of(
        ParquetType.of(primitive, null),
        ParquetType.of(primitive, LogicalTypeAnnotation.intType(bits, true)));
  }

  private static ParquetType microseconds(boolean isAdjusted) {
    return ParquetType.of(
        PrimitiveTypeName.INT64,
        LogicalTypeAnnotation.timestampType(isAdjusted, LogicalTypeAnnotation.TimeUnit.MICROS));
  }

  private static ParquetType decimal(Types.DecimalType type) {
    int digits = type.precision();
    LogicalTypeAnnotation annotation = LogicalTypeAnnotation.decimalType(type.scale(), digits);
    if (digits <= 9) return ParquetType.of(PrimitiveTypeName.INT32, annotation);
    if (digits <= 18) return ParquetType.of(PrimitiveTypeName.INT64, annotation);
    int bytes = 1;
    while (Math.pow(2, 8 * bytes - 1) < Math.pow(10, digits)) bytes++;
    return new ParquetType(
        PrimitiveTypeName.FIXED_LEN_BYTE_ARRAY.name(), bytes, annotation.toString());
  }
}
