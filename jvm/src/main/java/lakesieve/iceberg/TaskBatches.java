package lakesieve.iceberg;

import java.io.Closeable;
import java.io.IOException;
import java.util.Arrays;
import java.util.Iterator;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.data.BaseDeleteLoader;
import org.apache.iceberg.deletes.PositionDeleteIndex;
import org.apache.iceberg.io.FileIO;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** The batches of a file as its scan returns them, without the deleted rows. */
final class TaskBatches implements Iterator<ColumnarBatch>, Closeable {
  private final scala.collection.Iterator<ColumnarBatch> file;
  private final WantedColumns columns;
  private final ColumnVector[] constants;
  private final PositionDeleteIndex deleted;
  private long deletedRows = 0;

  /**
   * Create the batches.
   *
   * @param file the batches that Spark's reader returns for the file
   * @param deleted the positions of deleted rows, or null
   */
  TaskBatches(
      FileScanTask task,
      WantedColumns columns,
      PositionDeleteIndex deleted,
      scala.collection.Iterator<ColumnarBatch> file) {
    this.file = file;
    this.columns = columns;
    this.constants = columns.constants(task);
    this.deleted = deleted;
  }

  /** Return the positions of the deleted rows of a task's file, or null if it has no deletes. */
  static PositionDeleteIndex deleted(FileScanTask task, FileIO io) {
    if (task.deletes().isEmpty()) return null;
    return new BaseDeleteLoader(io::newInputFile)
        .loadPositionDeletes(task.deletes(), task.file().location());
  }

  /** Return the number of deleted rows that were left out so far. */
  long deletedRows() {
    return deletedRows;
  }

  @Override
  public boolean hasNext() {
    return file.hasNext();
  }

  @Override
  public ColumnarBatch next() {
    ColumnarBatch batch = file.next();
    ColumnVector[] read = new ColumnVector[batch.numCols()];
    for (int at = 0; at < read.length; at++) read[at] = batch.column(at);
    int[] rows = deleted == null ? null : remaining(columns.positions(read), batch.numRows());
    int count = batch.numRows();
    if (rows != null) {
      deletedRows += count - rows.length;
      count = rows.length;
      for (int at = 0; at < read.length; at++) read[at] = new SelectedVector(read[at], rows);
    }
    return new ColumnarBatch(columns.returned(constants, read, count), count);
  }

  /** Return the rows of a batch that are not deleted, or null if no row is deleted. */
  private int[] remaining(ColumnVector positions, int count) {
    int[] rows = new int[count];
    int remaining = 0;
    for (int row = 0; row < count; row++) {
      if (!deleted.isDeleted(positions.getLong(row))) rows[remaining++] = row;
    }
    return remaining == count ? null : Arrays.copyOf(rows, remaining);
  }

  @Override
  public void close() throws IOException {
    if (file instanceof Closeable closeable) closeable.close();
  }
}
