package lakesieve.deletes;

import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.Schema;
import org.apache.iceberg.types.Type;

/** Estimates the heap that Iceberg's reader needs for equality deletes, from measured sizes. */
final class DeleteMemory {
  // a record and its entry in the reader's set, without the values of the record
  private static final long RECORD_BYTES = 170;
  // a string or binary of 36 bytes; also used for a column of unknown type
  private static final long OTHER_VALUE_BYTES = 80;

  private DeleteMemory() {}

  /**
   * Return the bytes of all records of a delete file in memory.
   *
   * @param schema has the types of the equality columns
   */
  static long of(DeleteFile file, Schema schema) {
    long record = RECORD_BYTES;
    for (int id : file.equalityFieldIds()) record += valueBytes(schema.findType(id));
    return record * file.recordCount();
  }

  private static long valueBytes(Type type) {
    if (type == null) return OTHER_VALUE_BYTES;
    return switch (type.typeId()) {
      case BOOLEAN -> 0;
      case INTEGER, FLOAT -> 16;
      case LONG, DOUBLE, DATE, TIME -> 24;
      case UUID -> 32;
      case TIMESTAMP, TIMESTAMP_NANO -> 72;
      case DECIMAL -> 104;
      default -> OTHER_VALUE_BYTES;
    };
  }
}
