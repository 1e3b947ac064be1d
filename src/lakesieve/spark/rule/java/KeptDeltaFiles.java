package lakesieve;

import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.SnapshotDescriptor;
import org.apache.spark.sql.delta.files.TahoeBatchFileIndex;

/** Some files of a Delta snapshot, listed without the query that Delta runs over such a list. */
public final class KeptDeltaFiles extends TahoeBatchFileIndex {
  /** The leaf whose files these all are, before Delta has skipped any; null once some are taken out. */
  public final LogicalPlan original;

  /** Make it of some files of a snapshot. */
  public KeptDeltaFiles(
      SparkSession spark,
      String action,
      ${Seq} files,
      DeltaLog log,
      Path path,
      SnapshotDescriptor snapshot,
      LogicalPlan original) {
    super(spark, action, files, log, path, snapshot, false);
    this.original = original;
  }

  /** The files, of which only those of some partitions are selected by Delta. */
  @Override
  public ${Seq} matchingFiles(${Seq} partitionFilters, ${Seq} dataFilters) {
    if (partitionFilters.isEmpty()) return addFiles();
    return super.matchingFiles(partitionFilters, dataFilters);
  }
}
