package lakesieve.deletes;

import java.util.HashMap;
import java.util.Map;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.Schema;
import org.apache.iceberg.types.Type;

/** How much heap Iceberg's reader needs to hold the equality deletes of a file, as measured. */
public final class DeleteMemory {
  // a record with its entry in the set, without its values
  private static final long RECORD_BYTES = 170;
  // a value of any other type: a string or binary of 36 bytes
  private static final long OTHER_VALUE_BYTES = 80;
  private static final Map<String, Long> VALUE_BYTES = new HashMap<>();

  static {
    VALUE_BYTES.put("BOOLEAN", 0L);
    VALUE_BYTES.put("INTEGER", 16L);
    VALUE_BYTES.put("FLOAT", 16L);
    VALUE_BYTES.put("LONG", 24L);
    VALUE_BYTES.put("DOUBLE", 24L);
    VALUE_BYTES.put("DATE", 24L);
    VALUE_BYTES.put("TIME", 24L);
    VALUE_BYTES.put("UUID", 32L);
    VALUE_BYTES.put("TIMESTAMP", 72L);
    VALUE_BYTES.put("TIMESTAMP_NANO", 72L);
    VALUE_BYTES.put("DECIMAL", 104L);
  }

  private DeleteMemory() {}

  /**
   * Bytes of all records of a delete file.
   *
   * @param schema has the types of the equality columns
   */
  public static long of(DeleteFile file, Schema schema) {
    long record = RECORD_BYTES;
    for (Integer id : file.equalityFieldIds()) {
      Type type = schema.findType(id);
      Long value = type == null ? null : (Long) VALUE_BYTES.get(type.typeId().name());
      record += value == null ? OTHER_VALUE_BYTES : value;
    }
    return record * file.recordCount();
  }
}
