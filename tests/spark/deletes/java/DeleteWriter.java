package lakesieve.tests;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
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
import org.apache.iceberg.encryption.EncryptedFiles;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.io.OutputFile;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.util.Pair;

/** Writes equality delete files, which Spark cannot, for the tests. */
public final class DeleteWriter {
  public DeleteWriter() {}

  /** The distinct (spec, partition) pairs of a branch's data files, in a stable order. */
  public List partitions(Table table, String branch) throws Exception {
    TreeMap found = new TreeMap();
    TableScan scan = table.newScan();
    if (branch != null) scan = (TableScan) scan.useRef(branch);
    CloseableIterable tasks = scan.planFiles();
    for (Iterator it = tasks.iterator(); it.hasNext(); ) {
      DataFile file = (DataFile) ((FileScanTask) it.next()).file();
      found.put(file.specId() + "/" + file.partition(), Pair.of(Integer.valueOf(file.specId()), file.partition()));
    }
    tasks.close();
    return new ArrayList(found.values());
  }

  /** An unpartitioned spec of the table, as a place for deletes that apply everywhere, or null. */
  public Pair everywhere(Table table) {
    for (Iterator it = table.specs().values().iterator(); it.hasNext(); ) {
      PartitionSpec spec = (PartitionSpec) it.next();
      if (spec.isUnpartitioned()) return Pair.of(Integer.valueOf(spec.specId()), null);
    }
    return null;
  }

  /** Write one file of rows, each a list of JSON texts in the order of the columns, or null. */
  public DeleteFile write(Table table, Pair place, List columns, List rows, String format, String path)
      throws Exception {
    Schema schema = table.schema().select(new HashSet(columns));
    int[] ids = new int[columns.size()];
    for (int i = 0; i < ids.length; i++) ids[i] = schema.findField((String) columns.get(i)).fieldId();
    FileFormat kind = FileFormat.fromString(format);
    GenericFileWriterFactory factory =
        new GenericFileWriterFactory.Builder(table)
            .dataSchema(table.schema())
            .dataFileFormat(kind)
            .deleteFileFormat(kind)
            .equalityFieldIds(ids)
            .equalityDeleteRowSchema(schema)
            .build();
    PartitionSpec spec = (PartitionSpec) table.specs().get(place.first());
    OutputFile out = table.io().newOutputFile(path);
    org.apache.iceberg.deletes.EqualityDeleteWriter writer =
        factory.newEqualityDeleteWriter(
            EncryptedFiles.plainAsEncryptedOutput(out), spec, (StructLike) place.second());
    for (int r = 0; r < rows.size(); r++) {
      List row = (List) rows.get(r);
      GenericRecord record = GenericRecord.create(schema);
      for (int i = 0; i < ids.length; i++) {
        String text = (String) row.get(i);
        Types.NestedField field = schema.findField(ids[i]);
        Object value = text == null ? null : SingleValueParser.fromJson(field.type(), text);
        record.setField(field.name(), IdentityPartitionConverters.convertConstant(field.type(), value));
      }
      writer.write(record);
    }
    writer.close();
    return writer.toDeleteFile();
  }

  /** Commit delete files. */
  public void commit(Table table, List files, String branch) {
    RowDelta delta = table.newRowDelta();
    if (branch != null) delta = (RowDelta) delta.toBranch(branch);
    for (int i = 0; i < files.size(); i++) delta.addDeletes((DeleteFile) files.get(i));
    delta.commit();
  }

  /**
   * Replace every data file by a copy with the same sequence number, as a compaction does that began
   * before the deletes were written.
   */
  public void replaceByCopies(Table table) throws Exception {
    List tasks = new ArrayList();
    CloseableIterable planned = table.newScan().planFiles();
    for (Iterator it = planned.iterator(); it.hasNext(); ) tasks.add(it.next());
    planned.close();
    for (int i = 0; i < tasks.size(); i++) {
      DataFile file = (DataFile) ((FileScanTask) tasks.get(i)).file();
      String path = file.location().replace(".parquet", "-copy.parquet");
      java.io.InputStream from = table.io().newInputFile(file.location()).newStream();
      java.io.OutputStream to = table.io().newOutputFile(path).create();
      from.transferTo(to);
      from.close();
      to.close();
      DataFile copy =
          DataFiles.builder((PartitionSpec) table.specs().get(Integer.valueOf(file.specId())))
              .copy(file)
              .withPath(path)
              .build();
      RewriteFiles rewrite = table.newRewrite();
      rewrite.dataSequenceNumber(file.dataSequenceNumber().longValue());
      rewrite.deleteFile(file);
      rewrite.addFile(copy);
      rewrite.commit();
    }
  }
}
