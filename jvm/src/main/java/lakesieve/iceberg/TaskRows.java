package lakesieve.iceberg;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.UnaryOperator;
import lakesieve.files.FileRows;
import lakesieve.files.KeepSet;
import lakesieve.files.RowRanges;
import lakesieve.rows.ParquetReads;
import lakesieve.rows.RestrictedScans;
import lakesieve.spark.ClassicSessions;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionScanTask;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.types.Types;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.SupportsReportPartitioning;
import org.apache.spark.sql.connector.read.partitioning.UnknownPartitioning;

/**
 * The rows that a scan reads of some of its files, with Spark's Parquet reader in the place of
 * Iceberg's. Iceberg reads every file for which it is not certain that both return the same rows.
 */
final class TaskRows {
  /**
   * What is known of a scan of which only some rows are read.
   *
   * @param rows the rows that are read of some files
   * @param problems why all rows of other files are read
   * @param byGroup why row groups are read as a whole
   */
  record Choice(FileRows rows, List<String> problems, List<String> byGroup) {}

  /** The rows that Spark's reader reads, and the parts of files that tasks read. */
  private record Wanted(FileRows rows, WantedParts parts) {}

  private static final List<String> FACTORIES =
      List.of("SparkColumnarReaderFactory", "SparkRowReaderFactory");
  // Executors read the footer of every file. To read more of them here, for the report alone, would
  // take longer than the report is worth.
  private static final int FOOTERS = 20;

  private final WantedColumns columns;
  private final FileIO io;
  private final Configuration configuration = new Configuration(false);
  private final Map<String, Integer> problems = new TreeMap<>();
  private final Map<String, Integer> byGroup = new TreeMap<>();
  private final FileRows rows = new FileRows();
  private final WantedParts parts;
  private final String problem;
  private final boolean isInDoubt;
  private int footers = 0;
  private int groupFooters = 0;

  private TaskRows(Scan scan, FileScanTask first, List<? extends PartitionScanTask> kept)
      throws Exception {
    parts = new WantedParts(kept);
    Table table = SparkScans.table(scan);
    Schema projection = SparkScans.projection(scan);
    columns = WantedColumns.of(table, projection, scan.readSchema(), first);
    io = table.io();
    problem = problemOfScan(projection);
    isInDoubt = isInDoubt(table, projection);
  }

  /** Look up every private member that is needed; throws when one of them is missing. */
  static void check() throws ClassNotFoundException {
    SparkPartitions.check();
  }

  /**
   * Restrict a scan to the wanted rows of its files.
   *
   * @param kept the tasks of the files that are read
   * @param before the rows that the scan reads already, or null
   * @return null where all rows of all files are wanted
   */
  static Choice restrict(
      Scan scan, List<? extends PartitionScanTask> kept, KeepSet keep, FileRows before)
      throws Exception {
    if (!SparkScans.isBatch(scan)) return null;
    TaskRows choice = null;
    for (PartitionScanTask each : kept) {
      if (!(each instanceof FileScanTask task)) continue;
      long[] ranges = keep.rows(IcebergScans.path(task));
      if (before != null) {
        ranges = RowRanges.intersection(ranges, before.ranges(path(task)));
      }
      if (ranges == null) continue;
      if (choice == null) choice = new TaskRows(scan, task, kept);
      choice.add(task, ranges);
    }
    if (choice == null) {
      if (before == null) return null;
      RestrictedScans.put(scan, null);
      return new Choice(new FileRows(), List.of(), List.of());
    }
    boolean isWhole = choice.rows.isEmpty() && choice.parts.isEmpty();
    RestrictedScans.put(scan, isWhole ? null : choice.restriction());
    return choice.made();
  }

  private Choice made() {
    FileRows all = new FileRows();
    all.retain(rows);
    all.retain(parts.rows());
    return new Choice(all, reasons(problems), reasons(byGroup));
  }

  private void add(FileScanTask task, long[] ranges) {
    String why = problem != null ? problem : problem(task, columns);
    if (why == null && isInDoubt) why = problemOfFooter(task);
    if (why != null) {
      (leavesOutGroups(task, ranges) ? byGroup : problems).merge(why, 1, Integer::sum);
      return;
    }
    FileIoFileSystem.configure(configuration, task.file().location());
    rows.put(path(task), task.file().fileSizeInBytes(), 0, ranges, task.file().recordCount());
    if (!rows.needSplits(path(task))) parts.addWhole(task);
  }

  private static List<String> reasons(Map<String, Integer> problems) {
    List<String> reasons = new ArrayList<>();
    problems.forEach(
        (why, files) ->
            reasons.add(files == 1 ? "1 data file: " + why : files + " data files: " + why));
    return reasons;
  }

  /** Return why Iceberg must read these columns of a file, or null. */
  static String problem(FileScanTask task, WantedColumns columns) {
    if (task.file().format() != FileFormat.PARQUET) return "the format is " + task.file().format();
    if (task.file().keyMetadata() != null) return "they are encrypted";
    for (DeleteFile deletes : task.deletes()) {
      if (deletes.content() != FileContent.POSITION_DELETES) return "they have equality deletes";
      if (deletes.keyMetadata() != null) return "their deletes are encrypted";
    }
    return columns.isPartitionedLike(task) ? null : "they are partitioned by other columns";
  }

  private String problemOfScan(Schema projection) {
    String why = WantedColumns.problem(projection);
    if (why != null) return why;
    return columns.areConstant()
        ? "no column of them is read"
        : ParquetReads.problem(ClassicSessions.active(), columns.inFile());
  }

  /** True if files may lack a column, or have another type than the table. */
  private static boolean isInDoubt(Table table, Schema projection) {
    if (table.properties().containsKey(TableProperties.DEFAULT_NAME_MAPPING)) return true;
    for (Schema schema : table.schemas().values()) {
      for (Types.NestedField field : projection.columns()) {
        Types.NestedField known = schema.findField(field.fieldId());
        if (known == null || !known.type().equals(field.type())) return true;
      }
    }
    return false;
  }

  private String problemOfFooter(FileScanTask task) {
    if (footers++ >= FOOTERS) return null;
    String location = task.file().location();
    try {
      return opened(task, () -> columns.problem(FileIoFileSystem.footer(location)));
    } catch (IOException | RuntimeException e) {
      return "the footer cannot be read";
    }
  }

  /** Leave out row groups of a file that Iceberg reads. Return false if it reads all of them. */
  private boolean leavesOutGroups(FileScanTask task, long[] ranges) {
    if (!WantedParts.areSeveral(task) || groupFooters++ >= FOOTERS) return false;
    String location = task.file().location();
    try {
      var footer = opened(task, () -> FileIoFileSystem.rowGroups(location));
      List<WantedParts.RowGroup> all =
          footer.stream()
              .map(group -> new WantedParts.RowGroup(group.getStartingPos(), group.getRowCount()))
              .toList();
      return parts.add(task, ranges, all);
    } catch (IOException | RuntimeException e) {
      return false;
    }
  }

  /** Read something of a file by the file IO of the table. */
  private <T> T opened(FileScanTask task, FileIoFileSystem.Action<T> action) throws IOException {
    return FileIoFileSystem.open(io, task.file().location(), task.file().fileSizeInBytes(), action);
  }

  /** Return what makes the scan that reads fewer rows. It must not refer to the scan. */
  private UnaryOperator<Scan> restriction() {
    return restriction(new Wanted(rows, parts), columns, configuration);
  }

  private static UnaryOperator<Scan> restriction(
      Wanted wanted, WantedColumns columns, Configuration configuration) {
    return scan ->
        ForwardingProxy.likeTarget(
            Scan.class,
            scan,
            wanted,
            call -> {
              Object answer = call.forward();
              return answer instanceof Batch batch
                  ? batch(batch, wanted, isPartitioned(scan), columns, configuration)
                  : answer;
            });
  }

  /** True for a scan that tells Spark how its rows are partitioned. */
  private static boolean isPartitioned(Scan scan) {
    return scan instanceof SupportsReportPartitioning reports
        && !(reports.outputPartitioning() instanceof UnknownPartitioning);
  }

  private static Batch batch(
      Batch target,
      Wanted wanted,
      boolean isPartitioned,
      WantedColumns columns,
      Configuration configuration) {
    FileRows rows = wanted.rows;
    return ForwardingProxy.likeTarget(
        Batch.class,
        target,
        wanted,
        call -> {
          Object answer = call.forward();
          if (answer instanceof InputPartition[] partitions) {
            return wanted.parts.of(partitions, isPartitioned);
          }
          if (!(answer instanceof PartitionReaderFactory factory) || rows.isEmpty()) return answer;
          if (!FACTORIES.contains(factory.getClass().getSimpleName())) return answer;
          ParquetReads reads =
              ParquetReads.of(ClassicSessions.active(), columns.inFile(), rows, configuration);
          return reads == null ? answer : new RowRangeFactory(factory, reads, columns);
        });
  }

  private static String path(FileScanTask task) {
    return new Path(task.file().location()).toString();
  }
}
