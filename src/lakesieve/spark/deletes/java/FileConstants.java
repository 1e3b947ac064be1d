package lakesieve.deletes;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import lakesieve.PrivateMembers;
import org.apache.iceberg.BaseFileScanTask;
import org.apache.iceberg.ContentFile;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionData;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.PartitionSpecParser;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SchemaParser;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.expressions.ResidualEvaluator;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;

/**
 * Makes scan tasks whose rows have the number, group and sequence number of their file as columns.
 *
 * <p>Iceberg's readers take them for identity partition columns, which need not be stored in the
 * file: each has one value for all rows, without a join of the rows with a list of files by path.
 * Private names used: BaseFile.setDataSequenceNumber.
 */
public final class FileConstants {
  private static final String[] NAMES = {
    "__lakesieve_number", "__lakesieve_group", "__lakesieve_sequence"
  };
  private static final Type[] TYPES = {
    Types.IntegerType.get(), Types.IntegerType.get(), Types.LongType.get()
  };
  // above any column of a table, below Iceberg's own metadata columns
  private static final int FIRST_ID = 2147480000;

  private final Map<Integer, PartitionSpec> specs = new HashMap<>(); // with constants, by spec id
  private final Map<Integer, String> specJsons = new HashMap<>(); // the same as JSON
  private Schema schema = null;
  private String schemaJson = null;
  private Method setSequence = null;

  /** The values of the constants for a file. */
  public static Object[] of(int number, int group, ContentFile<?> file) {
    return new Object[] {number, group, file.dataSequenceNumber()};
  }

  /** A schema with the constants as columns, which are required, or Spark would filter out nulls. */
  public static Schema with(Schema schema) {
    List<Types.NestedField> columns = new ArrayList<>(schema.columns());
    for (int i = 0; i < NAMES.length; i++) {
      columns.add(Types.NestedField.required(FIRST_ID + i, NAMES[i], TYPES[i]));
    }
    return new Schema(schema.schemaId(), columns);
  }

  /**
   * A task with constants and without its equality deletes.
   *
   * @param positionDeletes the other deletes of the task
   */
  public FileScanTask task(
      FileScanTask task, DeleteFile[] positionDeletes, ResidualEvaluator residual, Object[] constants)
      throws Exception {
    DataFile file = (DataFile) task.file();
    PartitionSpec spec = spec(task.schema(), task.spec());
    DataFiles.Builder builder = builder(spec, file, constants).withFirstRowId(file.firstRowId());
    if (file.sortOrderId() != null) builder.withSortOrderId(file.sortOrderId());
    DataFile copy = builder.build();
    // readers return it as the last updated sequence number of rows
    if (setSequence == null) {
      Class<?> baseFile = copy.getClass().getSuperclass();
      setSequence = PrivateMembers.requireMethod(baseFile, "setDataSequenceNumber", Long.class);
    }
    setSequence.invoke(copy, file.dataSequenceNumber());
    return task(copy, positionDeletes, spec, residual);
  }

  /** The same with the task's own residual filter. */
  public FileScanTask task(FileScanTask task, Object[] constants) throws Exception {
    ResidualEvaluator residual = ResidualEvaluator.unpartitioned(task.residual());
    return task(task, withoutEquality(task.deletes()), residual, constants);
  }

  /** A task that reads an equality delete file as data, with constants. */
  public FileScanTask task(DeleteFile file, Schema keys, Object[] constants) throws Exception {
    PartitionSpec spec = spec(keys, PartitionSpec.unpartitioned());
    ResidualEvaluator noFilter = ResidualEvaluator.unpartitioned(Expressions.alwaysTrue());
    return task(builder(spec, file, constants).build(), new DeleteFile[0], spec, noFilter);
  }

  /** The position deletes and deletion vectors among delete files. */
  public static DeleteFile[] withoutEquality(List<DeleteFile> deletes) {
    List<DeleteFile> others = new ArrayList<>();
    for (DeleteFile file : deletes) {
      if (file.content() != FileContent.EQUALITY_DELETES) others.add(file);
    }
    return (DeleteFile[]) others.toArray(new DeleteFile[0]);
  }

  private FileScanTask task(
      DataFile file, DeleteFile[] deletes, PartitionSpec spec, ResidualEvaluator residual) {
    String specJson = (String) specJsons.get(spec.specId());
    return new BaseFileScanTask(file, deletes, schemaJson, specJson, residual);
  }

  private static DataFiles.Builder builder(
      PartitionSpec spec, ContentFile<?> file, Object[] constants) {
    PartitionData partition = new PartitionData(spec.partitionType());
    int fields = partition.size() - constants.length;
    for (int i = 0; i < fields; i++) partition.set(i, file.partition().get(i, Object.class));
    for (int i = 0; i < constants.length; i++) partition.set(fields + i, constants[i]);
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
  private PartitionSpec spec(Schema read, PartitionSpec spec) throws Exception {
    if (schema == null) {
      schema = with(read);
      schemaJson = SchemaParser.toJson(schema);
    }
    if (!specs.containsKey(spec.specId())) {
      ObjectMapper mapper = new ObjectMapper();
      ObjectNode document = (ObjectNode) mapper.readTree(PartitionSpecParser.toJson(spec));
      ArrayNode fields = (ArrayNode) document.get("fields");
      for (int i = 0; i < NAMES.length; i++) {
        fields
            .addObject()
            .put("name", NAMES[i])
            .put("transform", "identity")
            .put("source-id", FIRST_ID + i)
            .put("field-id", FIRST_ID + i);
      }
      String json = mapper.writeValueAsString(document);
      specs.put(spec.specId(), PartitionSpecParser.fromJson(schema, json));
      specJsons.put(spec.specId(), json);
    }
    return (PartitionSpec) specs.get(spec.specId());
  }
}
