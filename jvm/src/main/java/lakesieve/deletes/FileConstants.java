package lakesieve.deletes;

import java.util.ArrayList;
import java.util.List;
import org.apache.iceberg.ContentFile;
import org.apache.iceberg.Schema;
import org.apache.iceberg.types.Types;

/**
 * The common values of all rows of a file, as columns of the rows.
 *
 * @param number of the file in its plan
 * @param group the node of its partition among the units, or the one for all partitions
 * @param sequence its data sequence number
 */
record FileConstants(int number, int group, Long sequence) {
  // above any column of a table, below Iceberg's own metadata columns
  private static final int FIRST_ID = 2147480000;

  /**
   * The columns. They are required: otherwise Spark would infer IS NOT NULL filters, and push them
   * into files without these columns. Python knows the names.
   */
  static final List<Types.NestedField> COLUMNS =
      List.of(
          Types.NestedField.required(FIRST_ID, "__lakesieve_number", Types.IntegerType.get()),
          Types.NestedField.required(FIRST_ID + 1, "__lakesieve_group", Types.IntegerType.get()),
          Types.NestedField.required(FIRST_ID + 2, "__lakesieve_sequence", Types.LongType.get()));

  static FileConstants of(int number, int group, ContentFile<?> file) {
    return new FileConstants(number, group, file.dataSequenceNumber());
  }

  /** The values in the order of the columns. */
  Object[] values() {
    return new Object[] {number, group, sequence};
  }

  /** A schema with the columns after its own. */
  static Schema addedTo(Schema schema) {
    List<Types.NestedField> columns = new ArrayList<>(schema.columns());
    columns.addAll(COLUMNS);
    return new Schema(schema.schemaId(), columns);
  }
}
