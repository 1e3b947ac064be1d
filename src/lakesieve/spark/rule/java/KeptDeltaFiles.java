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
  /** These files, where the leaf is such a one. */
  public final SnapshotFiles all;

  /** Make it of some files of a snapshot. */
  public KeptDeltaFiles(
      SparkSession spark,
      String action,
      ${Seq} files,
      DeltaLog log,
      Path path,
      SnapshotDescriptor snapshot,
      LogicalPlan original,
      SnapshotFiles all) {
    super(spark, action, files, log, path, snapshot, false);
    this.original = original;
    this.all = all;
  }

  /** The files; all of a snapshot only for a reader that comes before the choice among them. */
  @Override
  public ${Seq} addFiles() {
    return this.all == null ? super.addFiles() : FileRelations.seq(this.all.all());
  }

  /** Bytes of the files. */
  @Override
  public long sizeInBytes() {
    return this.all == null ? super.sizeInBytes() : this.all.size();
  }

  /** The files, of which only those of some partitions are selected by Delta. */
  @Override
  public ${Seq} matchingFiles(${Seq} partitionFilters, ${Seq} dataFilters) {
    if (partitionFilters.isEmpty()) return addFiles();
    return super.matchingFiles(partitionFilters, dataFilters);
  }
}
