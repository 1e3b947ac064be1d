package lakesieve.iceberg;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.execution.vectorized.ColumnVectorUtils;
import org.apache.spark.sql.execution.vectorized.ConstantColumnVector;
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;

/** Columns that have one value in all rows. */
final class Constants {
  private Constants() {}

  /**
   * Return a column of one value, for any number of rows.
   *
   * @param value as Spark has it in rows, or null
   */
  static ColumnVector vector(DataType type, Object value) {
    return vector(type, new GenericInternalRow(new Object[] {value}), 0);
  }

  /**
   * Return a column of integers plus a constant.
   *
   * @param constant a column of one value, which is returned if it is null
   */
  static ColumnVector plus(ColumnVector constant, ColumnVector integers, int rows) {
    if (constant.isNullAt(0)) return constant;
    long first = constant.getLong(0);
    var sums = new OnHeapColumnVector(rows, DataTypes.LongType);
    for (int row = 0; row < rows; row++) sums.putLong(row, first + integers.getLong(row));
    return sums;
  }

  private static ConstantColumnVector vector(DataType type, InternalRow row, int at) {
    var vector = new ConstantColumnVector(Integer.MAX_VALUE, type);
    if (row.isNullAt(at)) {
      vector.setNull();
    } else if (type instanceof StructType struct) {
      vector.setNotNull();
      InternalRow fields = row.getStruct(at, struct.length());
      for (int field = 0; field < struct.length(); field++) {
        vector.setChild(field, vector(struct.fields()[field].dataType(), fields, field));
      }
    } else {
      ColumnVectorUtils.populate(vector, row, at);
    }
    return vector;
  }
}
