package lakesieve.deletes;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.Schema;
import org.apache.iceberg.types.Type;

/** How much heap the equality deletes of a file take as Iceberg's reader holds them, as measured. */
public final class DeleteMemory {
  // with its place in the set, without its values
  private static final long RECORD = 170;
  // what any value may take: a text or bytes of 36
  private static final long VALUE = 80;
  private static final Map VALUES = new HashMap();

  static {
    VALUES.put("BOOLEAN", Long.valueOf(0));
    VALUES.put("INTEGER", Long.valueOf(16));
    VALUES.put("FLOAT", Long.valueOf(16));
    VALUES.put("LONG", Long.valueOf(24));
    VALUES.put("DOUBLE", Long.valueOf(24));
    VALUES.put("DATE", Long.valueOf(24));
    VALUES.put("TIME", Long.valueOf(24));
    VALUES.put("UUID", Long.valueOf(32));
    VALUES.put("TIMESTAMP", Long.valueOf(72));
    VALUES.put("TIMESTAMP_NANO", Long.valueOf(72));
    VALUES.put("DECIMAL", Long.valueOf(104));
  }

  private DeleteMemory() {}

  /**
   * Bytes of all records of a file.
   *
   * @param schema tells the types of its keys
   */
  public static long of(DeleteFile file, Schema schema) {
    long record = RECORD;
    List ids = file.equalityFieldIds();
    for (int i = 0; i < ids.size(); i++) {
      Type type = schema.findType(((Integer) ids.get(i)).intValue());
      Long value = type == null ? null : (Long) VALUES.get(type.typeId().name());
      record += value == null ? VALUE : value.longValue();
    }
    return record * file.recordCount();
  }
}
