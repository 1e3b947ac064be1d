package lakesieve.deletes;

import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.Schema;
import org.apache.iceberg.types.Type;

/** The heap that Iceberg's reader needs for the equality deletes of a file, as measured. */
final class DeleteMemory {
  // a record with its entry in the set, without its values
  private static final long RECORD_BYTES = 170;
  // a string or binary of 36 bytes; also used for a column of unknown type
  private static final long OTHER_VALUE_BYTES = 80;

  private DeleteMemory() {}

  /**
   * Bytes of all records of a delete file.
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
