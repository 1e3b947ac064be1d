package lakesieve.deletes;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.reflect.Method;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import lakesieve.spark.PrivateMembers;
import org.apache.iceberg.BaseFileScanTask;
import org.apache.iceberg.ContentFile;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionData;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.PartitionSpecParser;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SchemaParser;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.expressions.ResidualEvaluator;
import org.apache.iceberg.types.Types;

/**
 * Makes scan tasks with one schema, whose rows have the {@link FileConstants} of their file as
 * columns.
 *
 * <p>Iceberg's readers take the constants for identity partition columns, which need not be stored
 * in the file. So each column has one value for all rows, and rows need not be joined with a list
 * of files by path.
 */
final class ConstantTasks {
  private static final ObjectMapper JSON = new ObjectMapper();

  /** A partition spec with the constants after its own fields. */
  private record Spec(PartitionSpec spec, String json) {}

  private final Map<Integer, Spec> specs = new HashMap<>(); // by id
  private Schema schema = null; // of the first task, with the constants
  private String schemaJson = null;
  private Method setSequence = null;

  /**
   * A task with constants and without its equality deletes.
   *
   * @param positionDeletes the other deletes of the task
   * @param residual the filter on the rows
   */
  FileScanTask task(
      FileScanTask task,
      List<DeleteFile> positionDeletes,
      ResidualEvaluator residual,
      FileConstants constants)
      throws Exception {
    DataFile file = task.file();
    Spec spec = spec(task.schema(), task.spec());
    DataFiles.Builder builder =
        builder(spec.spec, file, constants).withFirstRowId(file.firstRowId());
    if (file.sortOrderId() != null) builder.withSortOrderId(file.sortOrderId());
    DataFile copy = builder.build();
    // readers return it as the last updated sequence number of rows, and the builder cannot set it
    if (setSequence == null) {
      Class<?> baseFile = copy.getClass().getSuperclass();
      setSequence = PrivateMembers.requireMethod(baseFile, "setDataSequenceNumber", Long.class);
    }
    setSequence.invoke(copy, file.dataSequenceNumber());
    return task(copy, positionDeletes, spec, residual);
  }

  /** Make such a task with the task's own residual filter. */
  FileScanTask task(FileScanTask task, FileConstants constants) throws Exception {
    var residual = ResidualEvaluator.unpartitioned(task.residual());
    return task(task, EqualityFiles.others(task.deletes()), residual, constants);
  }

  /**
   * A task that reads an equality delete file as data, with constants.
   *
   * @param keys the equality columns
   */
  FileScanTask task(DeleteFile file, Schema keys, FileConstants constants)
      throws JsonProcessingException {
    Spec spec = spec(keys, PartitionSpec.unpartitioned());
    var noFilter = ResidualEvaluator.unpartitioned(Expressions.alwaysTrue());
    return task(builder(spec.spec, file, constants).build(), List.of(), spec, noFilter);
  }

  private FileScanTask task(
      DataFile file, List<DeleteFile> deletes, Spec spec, ResidualEvaluator residual) {
    return new BaseFileScanTask(
        file, deletes.toArray(DeleteFile[]::new), schemaJson, spec.json, residual);
  }

  private static DataFiles.Builder builder(
      PartitionSpec spec, ContentFile<?> file, FileConstants constants) {
    Object[] values = constants.values();
    PartitionData partition = new PartitionData(spec.partitionType());
    int fields = partition.size() - values.length;
    for (int i = 0; i < fields; i++) partition.set(i, file.partition().get(i, Object.class));
    for (int i = 0; i < values.length; i++) partition.set(fields + i, values[i]);
    return DataFiles.builder(spec)
        .withPath(file.location())
        .withFormat(file.format())
        .withPartition(partition)
        .withFileSizeInBytes(file.fileSizeInBytes())
        .withRecordCount(file.recordCount())
        .withSplitOffsets(file.splitOffsets())
        .withEncryptionKeyMetadata(file.keyMetadata());
  }

  /** A spec with the constants as identity partitions after its other fields. */
  private Spec spec(Schema read, PartitionSpec spec) throws JsonProcessingException {
    if (schema == null) {
      schema = FileConstants.addedTo(read);
      schemaJson = SchemaParser.toJson(schema);
    }
    Spec known = specs.get(spec.specId());
    if (known != null) return known;
    ObjectNode document = (ObjectNode) JSON.readTree(PartitionSpecParser.toJson(spec));
    ArrayNode fields = (ArrayNode) document.get("fields");
    for (Types.NestedField column : FileConstants.COLUMNS) {
      fields
          .addObject()
          .put("name", column.name())
          .put("transform", "identity")
          .put("source-id", column.fieldId())
          .put("field-id", column.fieldId());
    }
    String json = JSON.writeValueAsString(document);
    Spec made = new Spec(PartitionSpecParser.fromJson(schema, json), json);
    specs.put(spec.specId(), made);
    return made;
  }
}
