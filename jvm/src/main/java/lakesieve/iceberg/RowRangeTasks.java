package lakesieve.iceberg;

import java.io.Closeable;
import java.io.IOException;
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
import scala.collection.Iterator;

/**
 * Reads the tasks of one partition, one after another, in their order.
 *
 * @param <T> what is returned: rows or batches
 */
final class RowRangeTasks<T> implements PartitionReader<T> {
  // the name of Iceberg's metric for the splits that were read
  private static final String SPLITS = "numSplits";

  private final InputPartition partition;
  private final Function<InputPartition, PartitionReader<T>> iceberg;
  private final Function<ScanTask, Iterator<?>> opened;
  private final java.util.Iterator<? extends ScanTask> tasks;
  private final Map<String, Long> metrics = new LinkedHashMap<>();
  // at most one of these two reads the current task
  private PartitionReader<T> whole;
  private Iterator<?> some;
  private T current;

  /**
   * Create the reader.
   *
   * @param iceberg makes Iceberg's reader of a partition
   * @param opened opens a task of which only some rows are read, or returns null
   */
  RowRangeTasks(
      InputPartition partition,
      Function<InputPartition, PartitionReader<T>> iceberg,
      Function<ScanTask, Iterator<?>> opened) {
    this.partition = partition;
    this.iceberg = iceberg;
    this.opened = opened;
    this.tasks = SparkPartitions.group(partition).tasks().iterator();
  }

  @Override
  // Spark's reader returns what it was made for
  @SuppressWarnings("unchecked")
  public boolean next() throws IOException {
    while (true) {
      if (some != null && some.hasNext()) {
        current = (T) some.next();
        return true;
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
    Iterator<?> rows = some;
    whole = null;
    some = null;
    if (reader != null) {
      for (CustomTaskMetric metric : reader.currentMetricsValues()) add(metrics, metric);
      reader.close();
    }
    if (rows instanceof Closeable file) file.close();
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
