package lakesieve;

import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.SnapshotDescriptor;
import org.apache.spark.sql.delta.files.TahoeBatchFileIndex;

/** Some files of a Delta snapshot, told without the query that Delta runs over such a list. */
public final class KeptDeltaFiles extends TahoeBatchFileIndex {
  public KeptDeltaFiles(
      SparkSession spark,
      String action,
      scala.collection.immutable.Seq files,
      DeltaLog log,
      Path path,
      SnapshotDescriptor snapshot) {
    super(spark, action, files, log, path, snapshot, false);
  }

  public scala.collection.immutable.Seq matchingFiles(
      scala.collection.immutable.Seq partitionFilters, scala.collection.immutable.Seq dataFilters) {
    if (partitionFilters.isEmpty()) return addFiles();
    return super.matchingFiles(partitionFilters, dataFilters);
  }
}
