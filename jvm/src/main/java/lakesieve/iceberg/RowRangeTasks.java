package lakesieve.iceberg;

import java.io.IOException;
import java.util.Collections;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.ScanTask;
import org.apache.spark.rdd.InputFileBlockHolder;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * Reads the tasks of one partition, one after another, in their order.
 *
 * @param <T> what is returned: rows or batches
 */
final class RowRangeTasks<T> implements PartitionReader<T> {
  // the names of Iceberg's metrics for the splits that were read and the rows that are deleted
  private static final String SPLITS = "numSplits";
  private static final String DELETED = "numDeletes";

  private final InputPartition partition;
  private final Function<InputPartition, PartitionReader<T>> iceberg;
  private final Function<ScanTask, TaskBatches> opened;
  private final Function<ColumnarBatch, Iterator<T>> returned;
  private final Iterator<? extends ScanTask> tasks;
  private final Map<String, Long> metrics = new LinkedHashMap<>();
  // at most one of these two reads the current task
  private PartitionReader<T> whole;
  private TaskBatches some;
  // what is left of the current batch
  private Iterator<T> batch = Collections.emptyIterator();
  private T current;

  /**
   * Create the reader.
   *
   * @param iceberg makes Iceberg's reader of a partition
   * @param opened opens a task of which only some rows are read, or returns null
   * @param returned splits a batch into what Spark gets: the batch itself, or its rows
   */
  RowRangeTasks(
      InputPartition partition,
      Function<InputPartition, PartitionReader<T>> iceberg,
      Function<ScanTask, TaskBatches> opened,
      Function<ColumnarBatch, Iterator<T>> returned) {
    this.partition = partition;
    this.iceberg = iceberg;
    this.opened = opened;
    this.returned = returned;
    this.tasks = SparkPartitions.group(partition).tasks().iterator();
  }

  @Override
  public boolean next() throws IOException {
    while (true) {
      if (batch.hasNext()) {
        current = batch.next();
        return true;
      }
      if (some != null && some.hasNext()) {
        batch = returned.apply(some.next());
        continue;
      }
      if (whole != null && whole.next()) {
        current = whole.get();
        return true;
      }
      closeTask();
      if (!tasks.hasNext()) return false;
      open(tasks.next());
    }
  }

  @Override
  public T get() {
    return current;
  }

  private void open(ScanTask task) {
    some = opened.apply(task);
    if (some == null) {
      whole = iceberg.apply(SparkPartitions.with(partition, List.of(task)));
      return;
    }
    FileScanTask file = task.asFileScanTask();
    // for the function input_file_name
    InputFileBlockHolder.set(file.file().location(), file.start(), file.length());
    metrics.merge(SPLITS, 1L, Long::sum);
  }

  private void closeTask() throws IOException {
    PartitionReader<T> reader = whole;
    TaskBatches batches = some;
    whole = null;
    some = null;
    batch = Collections.emptyIterator();
    if (reader != null) {
      for (CustomTaskMetric metric : reader.currentMetricsValues()) add(metrics, metric);
      reader.close();
    }
    if (batches != null) {
      metrics.merge(DELETED, batches.deletedRows(), Long::sum);
      batches.close();
    }
  }

  @Override
  public void close() throws IOException {
    InputFileBlockHolder.unset();
    closeTask();
  }

  @Override
  public CustomTaskMetric[] currentMetricsValues() {
    Map<String, Long> all = new LinkedHashMap<>(metrics);
    if (whole != null) {
      for (CustomTaskMetric metric : whole.currentMetricsValues()) add(all, metric);
    }
    return all.entrySet().stream()
        .map(entry -> new Metric(entry.getKey(), entry.getValue()))
        .toArray(CustomTaskMetric[]::new);
  }

  private static void add(Map<String, Long> metrics, CustomTaskMetric metric) {
    metrics.merge(metric.name(), metric.value(), Long::sum);
  }

  private record Metric(String name, long value) implements CustomTaskMetric {}
}
