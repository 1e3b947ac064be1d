package lakesieve.iceberg;

import java.io.IOException;
import java.util.Iterator;
import java.util.List;
import java.util.function.Function;
import lakesieve.rows.ParquetReads;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.ScanTask;
import org.apache.iceberg.ScanTaskGroup;
import org.apache.iceberg.io.FileIO;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.slf4j.LoggerFactory;

/**
 * Makes the readers of executors. Spark's Parquet reader reads the files of which only some rows
 * are wanted, and Iceberg's own reader reads all other files.
 */
final class RowRangeFactory implements PartitionReaderFactory {
  private static final long serialVersionUID = 1;

  private final PartitionReaderFactory iceberg;
  private final ParquetReads reads;
  private final WantedColumns columns;

  RowRangeFactory(PartitionReaderFactory iceberg, ParquetReads reads, WantedColumns columns) {
    this.iceberg = iceberg;
    this.reads = reads;
    this.columns = columns;
  }

  @Override
  public boolean supportColumnarReads(InputPartition partition) {
    return iceberg.supportColumnarReads(partition);
  }

  @Override
  public PartitionReader<InternalRow> createReader(InputPartition partition) {
    return isRestricted(partition)
        ? new RowRangeTasks<>(
            partition, iceberg::createReader, opener(partition), rowsOf(columns.returned()))
        : iceberg.createReader(partition);
  }

  /**
   * Return what turns a batch into its rows.
   *
   * <p>The rows are copied from the batch. A list of a batch returns any value for a null element
   * to an expression that does not ask first whether it is null, such as exists().
   */
  private static Function<ColumnarBatch, Iterator<InternalRow>> rowsOf(StructType returned) {
    UnsafeProjection copy = UnsafeProjection.create(returned);
    return batch -> {
      Iterator<InternalRow> rows = batch.rowIterator();
      return new Iterator<>() {
        @Override
        public boolean hasNext() {
          return rows.hasNext();
        }

        @Override
        public InternalRow next() {
          return copy.apply(rows.next());
        }
      };
    };
  }

  @Override
  public PartitionReader<ColumnarBatch> createColumnarReader(InputPartition partition) {
    return isRestricted(partition)
        ? new RowRangeTasks<>(
            partition,
            iceberg::createColumnarReader,
            opener(partition),
            batch -> List.of(batch).iterator())
        : iceberg.createColumnarReader(partition);
  }

  private boolean isRestricted(InputPartition partition) {
    ScanTaskGroup<?> group = SparkPartitions.group(partition);
    return group != null && group.tasks().stream().anyMatch(this::isRestricted);
  }

  private boolean isRestricted(ScanTask task) {
    return task instanceof FileScanTask own
        && TaskRows.problem(own, columns) == null
        && reads.isRestricted(own.file().location(), own.file().fileSizeInBytes());
  }

  private Function<ScanTask, TaskBatches> opener(InputPartition partition) {
    FileIO io = SparkPartitions.io(partition);
    return task -> open(task, io);
  }

  /** Open a file of which only some rows are wanted; null for a file that Iceberg must read. */
  private TaskBatches open(ScanTask task, FileIO io) {
    if (!isRestricted(task)) return null;
    FileScanTask own = task.asFileScanTask();
    String location = own.file().location();
    try {
      long size = own.file().fileSizeInBytes();
      var batches =
          FileIoFileSystem.open(
              io,
              location,
              size,
              () ->
                  columns.problem(FileIoFileSystem.footer(location)) == null
                      ? reads.open(location, own.start(), own.length(), size)
                      : null);
      if (batches == null) return null;
      return new TaskBatches(own, columns, TaskBatches.deleted(own, io), batches);
    } catch (IOException | RuntimeException e) {
      TaskContext context = TaskContext.get();
      if (e instanceof RuntimeException failure && context != null && context.isInterrupted()) {
        throw failure;
      }
      LoggerFactory.getLogger("lakesieve").info("Iceberg reads all of " + location + ": " + e);
      return null;
    }
  }
}
