package lakesieve.testing;

import java.io.InputStream;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.RewriteFiles;
import org.apache.iceberg.RowDelta;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SingleValueParser;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableScan;
import org.apache.iceberg.data.GenericFileWriterFactory;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.IdentityPartitionConverters;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.deletes.EqualityDeleteWriter;
import org.apache.iceberg.encryption.EncryptedFiles;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.io.OutputFile;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.util.Pair;

/** Writes equality delete files for the tests, which Spark itself cannot do. */
public final class DeleteWriter {
  /** A writer for any table. */
  public DeleteWriter() {}

  /** The distinct (spec id, partition) pairs of a branch's data files, in a stable order. */
  public List<Pair<Integer, StructLike>> partitions(Table table, String branch) throws Exception {
    Map<String, Pair<Integer, StructLike>> found = new TreeMap<>();
    TableScan scan = table.newScan();
    if (branch != null) scan = scan.useRef(branch);
    CloseableIterable<FileScanTask> tasks = scan.planFiles();
    for (FileScanTask task : tasks) {
      DataFile file = task.file();
      found.put(file.specId() + "/" + file.partition(), Pair.of(file.specId(), file.partition()));
    }
    tasks.close();
    return new ArrayList<>(found.values());
  }

  /** An unpartitioned spec of the table, for deletes that apply to all partitions, or null. */
  public Pair<Integer, StructLike> everywhere(Table table) {
    for (PartitionSpec spec : table.specs().values()) {
      if (spec.isUnpartitioned()) return Pair.of(spec.specId(), null);
    }
    return null;
  }

  /**
   * Write one file of rows.
   *
   * @param partition a spec id and a partition of it
   * @param rows each a list of JSON texts, or null, in the order of the columns
   */
  public DeleteFile write(
      Table table,
      Pair<Integer, StructLike> partition,
      List<String> columns,
      List<List<String>> rows,
      String format,
      String path)
      throws Exception {
    Schema schema = table.schema().select(new HashSet<>(columns));
    int[] ids = new int[columns.size()];
    for (int i = 0; i < ids.length; i++) {
      ids[i] = schema.findField(columns.get(i)).fieldId();
    }
    FileFormat fileFormat = FileFormat.fromString(format);
    GenericFileWriterFactory factory =
        new GenericFileWriterFactory.Builder(table)
            .dataSchema(table.schema())
            .dataFileFormat(fileFormat)
            .deleteFileFormat(fileFormat)
            .equalityFieldIds(ids)
            .equalityDeleteRowSchema(schema)
            .build();
    PartitionSpec spec = table.specs().get(partition.first());
    OutputFile out = table.io().newOutputFile(path);
    EqualityDeleteWriter<Record> writer =
        factory.newEqualityDeleteWriter(
            EncryptedFiles.plainAsEncryptedOutput(out), spec, partition.second());
    for (List<String> row : rows) {
      GenericRecord record = GenericRecord.create(schema);
      for (int i = 0; i < ids.length; i++) {
        String text = row.get(i);
        Types.NestedField field = schema.findField(ids[i]);
        Object value = text == null ? null : SingleValueParser.fromJson(field.type(), text);
        record.setField(
            field.name(), IdentityPartitionConverters.convertConstant(field.type(), value));
      }
      writer.write(record);
    }
    writer.close();
    return writer.toDeleteFile();
  }

  /** Commit delete files. */
  public void commit(Table table, List<DeleteFile> files, String branch) {
    RowDelta delta = table.newRowDelta();
    if (branch != null) delta = delta.toBranch(branch);
    for (DeleteFile file : files) delta.addDeletes(file);
    delta.commit();
  }

  /**
   * Replace every data file by a copy with the same sequence number, as a compaction does that
   * began before the deletes were written.
   */
  public void replaceByCopies(Table table) throws Exception {
    List<DataFile> files = new ArrayList<>();
    CloseableIterable<FileScanTask> tasks = table.newScan().planFiles();
    for (FileScanTask task : tasks) files.add(task.file());
    tasks.close();
    for (DataFile file : files) {
      String path = file.location().replace(".parquet", "-copy.parquet");
      InputStream from = table.io().newInputFile(file.location()).newStream();
      OutputStream to = table.io().newOutputFile(path).create();
      from.transferTo(to);
      from.close();
      to.close();
      DataFile copy =
          DataFiles.builder(table.specs().get(file.specId())).copy(file).withPath(path).build();
      RewriteFiles rewrite = table.newRewrite();
      rewrite.dataSequenceNumber(file.dataSequenceNumber());
      rewrite.deleteFile(file);
      rewrite.addFile(copy);
      rewrite.commit();
    }
  }
}
