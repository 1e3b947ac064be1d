package lakesieve.statements;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import lakesieve.spark.Scala;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** The columns of the rows of each statement, and rows from Python's answer. */
final class StatementRows {
  private static final String OF_INDEXES =
      "name string, table string, columns array<string>, types array<string>, files bigint, "
          + "live_files bigint, covered_files bigint, rows bigint, keys bigint, bytes bigint, "
          + "budget string, rows_per_block bigint, created_at string, location string";
  private static final Map<String, String> COLUMNS =
      Map.of(
          "create",
          OF_INDEXES,
          "show",
          OF_INDEXES,
          "describe",
          "property string, value string",
          "refresh",
          "index string, table string, files bigint, rows bigint, covered bigint, "
              + "compacted boolean",
          "compact",
          "index string, table string, files_before bigint, files bigint, "
              + "segments_before bigint, segments bigint, bytes_before bigint, bytes bigint",
          "drop",
          "index string, table string, dropped boolean");

  private StatementRows() {}

  /** Return new columns of the rows of a statement. */
  static List<Attribute> columns(String action) {
    StructType type = StructType.fromDDL(COLUMNS.get(action));
    return new ArrayList<>(Scala.list(DataTypeUtils.toAttributes(type)));
  }

  /** Return the rows of a JSON list with an object for each row. */
  static List<Row> rows(String action, JsonNode answer) {
    StructField[] fields = StructType.fromDDL(COLUMNS.get(action)).fields();
    List<Row> rows = new ArrayList<>();
    for (JsonNode of : answer) {
      Object[] values = new Object[fields.length];
      for (int i = 0; i < values.length; i++) {
        JsonNode value = of.get(fields[i].name());
        if (value == null) throw new IllegalStateException("no value of " + fields[i].name());
        values[i] = value(value, fields[i].dataType());
      }
      rows.add(RowFactory.create(values));
    }
    return rows;
  }

  private static Object value(JsonNode value, DataType type) {
    if (value.isNull()) return null;
    if (type.equals(DataTypes.LongType)) return value.longValue();
    if (type.equals(DataTypes.BooleanType)) return value.booleanValue();
    if (type instanceof ArrayType) {
      List<String> texts = new ArrayList<>();
      value.forEach(each -> texts.add(each.textValue()));
      return texts.toArray(new String[0]);
    }
    return value.textValue();
  }
}
