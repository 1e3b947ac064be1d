package lakesieve.iceberg;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import lakesieve.rows.ParquetReads;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.PartitionField;
import org.apache.iceberg.Partitioning;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.spark.SparkUtil;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.iceberg.types.Types.StructType;
import org.apache.iceberg.util.PartitionUtil;
import org.apache.parquet.hadoop.metadata.FileMetaData;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.vectorized.ColumnVector;

/**
 * The columns that a scan reads, where Spark's Parquet reader returns the same values as Iceberg's.
 *
 * <p>That is so for columns that are in the file under their field ids, with the type that Iceberg
 * writes for the table's own type, and for columns that are null because the file is older than
 * they are. Nothing is converted, and no default is filled in. Other columns have one value in all
 * rows of a file, or are the position of the row.
 */
final class WantedColumns implements Serializable {
  private static final long serialVersionUID = 1;

  // Spark converts old dates in some of the files that it has written itself
  private static final String WRITTEN_BY_SPARK = "org.apache.spark.";
  private static final int POSITION_ID = MetadataColumns.ROW_POSITION.fieldId();
  // the position and a number of the file
  private static final int ROW_ID = MetadataColumns.ROW_ID.fieldId();
  private static final Set<Integer> CONSTANT_METADATA =
      Set.of(
          MetadataColumns.FILE_PATH.fieldId(),
          MetadataColumns.SPEC_ID.fieldId(),
          MetadataColumns.PARTITION_COLUMN_ID,
          MetadataColumns.LAST_UPDATED_SEQUENCE_NUMBER.fieldId());

  private final Schema projection;
  private final org.apache.spark.sql.types.StructType returned;
  private final Set<Integer> partitioning;
  private final StructType partitionType;

  private WantedColumns(
      Schema projection,
      org.apache.spark.sql.types.StructType returned,
      Set<Integer> partitioning,
      StructType partitionType) {
    this.projection = projection;
    this.returned = returned;
    this.partitioning = partitioning;
    this.partitionType = partitionType;
  }

  /**
   * Describe the columns of a scan.
   *
   * @param returned the columns in the same order, as the scan returns them
   * @param first a file of the scan; columns of files that are partitioned in another way differ
   */
  static WantedColumns of(
      Table table,
      Schema projection,
      org.apache.spark.sql.types.StructType returned,
      FileScanTask first) {
    boolean asColumn = projection.findField(MetadataColumns.PARTITION_COLUMN_ID) != null;
    StructType partitionType = asColumn ? Partitioning.partitionType(table) : null;
    return new WantedColumns(projection, returned, partitioning(projection, first), partitionType);
  }

  /** Return the columns whose values Iceberg takes from the metadata of a file. */
  private static Set<Integer> partitioning(Schema projection, FileScanTask task) {
    return task.spec().fields().stream()
        .filter(field -> field.transform().isIdentity())
        .map(PartitionField::sourceId)
        .filter(id -> projection.findField(id) != null)
        .collect(Collectors.toSet());
  }

  /** Return true for a file whose metadata has the values of the same columns, none in a struct. */
  boolean isPartitionedLike(FileScanTask task) {
    return partitioning.equals(partitioning(projection, task))
        && partitioning.stream().allMatch(id -> projection.asStruct().field(id) != null);
  }

  /** Return the columns as the scan returns them. */
  org.apache.spark.sql.types.StructType returned() {
    return returned;
  }

  /** Return true where no column is read from the files. */
  boolean areConstant() {
    return projection.columns().stream().noneMatch(this::isInFile);
  }

  /** Return why Spark's reader cannot give all columns of a scan, or null. */
  static String problem(Schema projection) {
    for (NestedField field : projection.columns()) {
      int id = field.fieldId();
      if (isMade(id)) continue;
      if (MetadataColumns.isMetadataColumn(id) || MetadataColumns.isMetadataColumn(field.name())) {
        return "the metadata column " + field.name() + " is read";
      }
      if (!FileTypes.isSupported(field.type()))
        return field.name() + " has the type " + field.type();
    }
    return null;
  }

  /** Return why a file's columns are not the wanted ones, or null. */
  String problem(FileMetaData file) {
    for (String key : file.getKeyValueMetaData().keySet()) {
      if (key.startsWith(WRITTEN_BY_SPARK)) return "they were not written by Iceberg";
    }
    for (NestedField field : projection.columns()) {
      if (isMade(field.fieldId()) && FileTypes.has(file.getSchema(), field.fieldId())) {
        return "they have a column " + field.name();
      }
      if (!isInFile(field) || FileTypes.isNull(field, file.getSchema())) continue;
      String why = FileTypes.problem(field, file.getSchema());
      if (why != null) return why;
    }
    return null;
  }

  /** Return true for a metadata column that is made here. */
  private static boolean isMade(int id) {
    return id == POSITION_ID || id == ROW_ID || CONSTANT_METADATA.contains(id);
  }

  /** Return true for a column that is read from the file. */
  private boolean isInFile(NestedField field) {
    return !isMade(field.fieldId()) && !partitioning.contains(field.fieldId());
  }

  /**
   * Return the columns that are read from files, as Spark finds them by their field ids. The last
   * one is the position of the row.
   */
  org.apache.spark.sql.types.StructType inFile() {
    List<StructField> fields = new ArrayList<>();
    for (int at = 0; at < returned.length(); at++) {
      NestedField field = projection.columns().get(at);
      if (isInFile(field)) fields.add(FileTypes.withIds(returned.fields()[at], field));
    }
    fields.add(new StructField(ParquetReads.POSITION, DataTypes.LongType, true, Metadata.empty()));
    return new org.apache.spark.sql.types.StructType(fields.toArray(new StructField[0]));
  }

  /**
   * Return the columns of the scan that have one value in all rows of a file, and null for others.
   * The row id has the value to which the position is added.
   */
  ColumnVector[] constants(FileScanTask task) {
    Map<Integer, ?> values =
        partitionType == null
            ? PartitionUtil.constantsMap(task, SparkUtil::internalToSpark)
            : PartitionUtil.constantsMap(task, partitionType, SparkUtil::internalToSpark);
    ColumnVector[] constants = new ColumnVector[returned.length()];
    for (int at = 0; at < constants.length; at++) {
      NestedField field = projection.columns().get(at);
      if (isInFile(field) || field.fieldId() == POSITION_ID) continue;
      constants[at] =
          Constants.vector(returned.fields()[at].dataType(), values.get(field.fieldId()));
    }
    return constants;
  }

  /**
   * Return the columns of the scan for one batch of a file.
   *
   * @param constants see {@link #constants}
   * @param read the columns of {@link #inFile}
   * @param rows in the batch
   */
  ColumnVector[] returned(ColumnVector[] constants, ColumnVector[] read, int rows) {
    ColumnVector[] all = constants.clone();
    int next = 0;
    for (int at = 0; at < all.length; at++) {
      NestedField field = projection.columns().get(at);
      if (field.fieldId() == POSITION_ID) {
        all[at] = positions(read);
      } else if (field.fieldId() == ROW_ID) {
        all[at] = Constants.plus(all[at], positions(read), rows);
      } else if (all[at] == null) {
        all[at] = read[next++];
      }
    }
    return all;
  }

  /** Return the positions of a batch's rows in their file. */
  ColumnVector positions(ColumnVector[] read) {
    return read[read.length - 1];
  }
}
