package lakesieve.deletes;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
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
 * Makes scan tasks whose rows bear what is known of their file: number, group, sequence number.
 *
 * <p>They are read as Iceberg's readers read identity partitions, which need not be stored in the
 * file: one value for all of its rows, without a join of each row with a list of files by path.
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

  private final Map specs = new HashMap(); // of the table, by id, with the constants
  private final Map specJsons = new HashMap(); // the same as text
  private Schema schema = null;
  private String schemaJson = null;
  private Method sequence = null;

  /** What the rows of a file bear. */
  public static Object[] of(int number, int group, ContentFile file) {
    return new Object[] {Integer.valueOf(number), Integer.valueOf(group), file.dataSequenceNumber()};
  }

  /** A schema and the columns of the constants; never null, or Spark would filter by them. */
  public static Schema with(Schema schema) {
    List columns = new ArrayList(schema.columns());
    for (int i = 0; i < NAMES.length; i++) {
      columns.add(Types.NestedField.required(FIRST_ID + i, NAMES[i], TYPES[i]));
    }
    return new Schema(schema.schemaId(), columns);
  }

  /**
   * A task with some of its deletes.
   *
   * @param deletes those of it that are no equality deletes
   */
  public FileScanTask task(
      FileScanTask task, DeleteFile[] deletes, ResidualEvaluator residual, Object[] constants)
      throws Exception {
    DataFile file = (DataFile) task.file();
    PartitionSpec spec = spec(task.schema(), task.spec());
    DataFiles.Builder builder = builder(spec, file, constants).withFirstRowId(file.firstRowId());
    if (file.sortOrderId() != null) builder.withSortOrderId(file.sortOrderId().intValue());
    DataFile marked = builder.build();
    // the lineage of rows is read from it
    if (sequence == null) {
      sequence = marked.getClass().getMethod("setDataSequenceNumber", new Class[] {Long.class});
      sequence.setAccessible(true);
    }
    sequence.invoke(marked, new Object[] {file.dataSequenceNumber()});
    return task(marked, deletes, spec, residual);
  }

  /** A task without its equality deletes. */
  public FileScanTask task(FileScanTask task, Object[] constants) throws Exception {
    ResidualEvaluator own = ResidualEvaluator.unpartitioned(task.residual());
    return task(task, withoutEquality(task.deletes()), own, constants);
  }

  /** A task that reads a delete file of keys as data. */
  public FileScanTask task(DeleteFile file, Schema keys, Object[] constants) throws Exception {
    PartitionSpec spec = spec(keys, PartitionSpec.unpartitioned());
    ResidualEvaluator all = ResidualEvaluator.unpartitioned(Expressions.alwaysTrue());
    return task(builder(spec, file, constants).build(), new DeleteFile[0], spec, all);
  }

  /** The position deletes and deletion vectors among delete files. */
  public static DeleteFile[] withoutEquality(List deletes) {
    List others = new ArrayList();
    for (int i = 0; i < deletes.size(); i++) {
      if (((DeleteFile) deletes.get(i)).content() != FileContent.EQUALITY_DELETES) {
        others.add(deletes.get(i));
      }
    }
    return (DeleteFile[]) others.toArray(new DeleteFile[0]);
  }

  private FileScanTask task(
      DataFile file, DeleteFile[] deletes, PartitionSpec spec, ResidualEvaluator residual) {
    String json = (String) specJsons.get(Integer.valueOf(spec.specId()));
    return new BaseFileScanTask(file, deletes, schemaJson, json, residual);
  }

  private static DataFiles.Builder builder(
      PartitionSpec spec, ContentFile file, Object[] constants) {
    PartitionData partition = new PartitionData(spec.partitionType());
    int own = partition.size() - constants.length;
    for (int i = 0; i < own; i++) partition.set(i, file.partition().get(i, Object.class));
    for (int i = 0; i < constants.length; i++) partition.set(own + i, constants[i]);
    return DataFiles.builder(spec)
        .withPath(file.location())
        .withFormat(file.format())
        .withPartition(partition)
        .withFileSizeInBytes(file.fileSizeInBytes())
        .withRecordCount(file.recordCount())
        .withSplitOffsets(file.splitOffsets())
        .withEncryptionKeyMetadata(file.keyMetadata());
  }

  /** A spec with the constants as identity partitions behind its own fields. */
  private PartitionSpec spec(Schema read, PartitionSpec spec) throws Exception {
    if (schema == null) {
      schema = with(read);
      schemaJson = SchemaParser.toJson(schema);
    }
    Integer id = Integer.valueOf(spec.specId());
    if (!specs.containsKey(id)) {
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
      specs.put(id, PartitionSpecParser.fromJson(schema, json));
      specJsons.put(id, json);
    }
    return (PartitionSpec) specs.get(id);
  }
}
