package lakesieve.deletes;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.iceberg.BatchScan;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.types.TypeUtil;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.StructType;

/**
 * The rows that Python joins for a plan: data files, and delete files read as data. A relation's
 * name must be unique.
 */
public final class PlanRelations {
  private final SparkSession spark;
  private final DeletePlan plan;

  PlanRelations(SparkSession spark, DeletePlan plan) {
    this.spark = spark;
    this.plan = plan;
  }

  /** Rows of the data files that no equality delete reaches. */
  public Dataset<Row> untouched(String name) {
    BatchScan scan = plan.version().scan();
    if (plan.scanTasks() == null) {
      scan = ScanView.withoutFiles(scan, plan.affectedByPath());
    } else {
      Set<String> affected = plan.affectedByPath().keySet();
      List<FileScanTask> tasks =
          plan.scanTasks().stream()
              .filter(task -> !affected.contains(task.file().location()))
              .toList();
      scan = ScanView.ofTasks(scan, tasks);
    }
    return rows(name, plan.schemaWithKeys(), scan, null);
  }

  /**
   * Rows of the affected data files as if there were no equality deletes, with the constants of
   * their file.
   */
  public Dataset<Row> touched(String name) {
    if (plan.scanTasks() != null) return touchedUnit(name, DeletePlan.ALL);
    BatchScan scan = ScanView.ofFiles(plan.version().scan(), plan.affectedByPath());
    return rows(name, FileConstants.addedTo(plan.schemaWithKeys()), scan, null);
  }

  /** The same rows for one unit, without planning files again. */
  public Dataset<Row> touchedUnit(String name, int unit) {
    List<FileScanTask> tasks = new ArrayList<>();
    for (AffectedFile affected : plan.affectedFiles()) {
      if (plan.isRead(affected, unit)) tasks.add(affected.task());
    }
    BatchScan scan = ScanView.ofTasks(plan.version().scan(), tasks);
    return rows(name, FileConstants.addedTo(plan.schemaWithKeys()), scan, null);
  }

  /** The affected data files of a unit: number, path. */
  public Dataset<Row> touchedFiles(StructType type, int unit) {
    List<Row> rows = new ArrayList<>();
    for (AffectedFile affected : plan.affectedFiles()) {
      if (!plan.isRead(affected, unit)) continue;
      rows.add(RowFactory.create(affected.constants().number(), affected.path()));
    }
    return spark.createDataFrame(rows, type);
  }

  /** The rows of delete files of a kind, read as data, with the columns of the kind. */
  public Dataset<Row> deletes(String name, int kind, int unit) throws Exception {
    Set<Integer> ids = plan.deletes().kinds().get(kind).ids;
    Schema keys = new Schema(TypeUtil.select(plan.schemaWithKeys(), ids).columns());
    ConstantTasks withConstants = new ConstantTasks();
    List<FileScanTask> tasks = new ArrayList<>();
    for (EqualityFiles.Entry entry : plan.entries(kind, unit)) {
      FileConstants constants = FileConstants.of(tasks.size(), entry.group, entry.file);
      tasks.add(withConstants.task(entry.file, keys, constants));
    }
    BatchScan scan = ScanView.ofTasks(plan.version().scan(), tasks);
    return rows(name, FileConstants.addedTo(keys), scan, PartitionSpec.unpartitioned());
  }

  private Dataset<Row> rows(String name, Schema schema, BatchScan scan, PartitionSpec spec) {
    return new TableView(plan.version(), name, schema, scan, spec).rows(spark);
  }
}
