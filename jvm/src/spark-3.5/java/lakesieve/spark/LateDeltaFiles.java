package lakesieve.spark;

import java.util.List;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.SnapshotDescriptor;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.files.TahoeBatchFileIndex;
import scala.collection.Seq;

/**
 * The methods of a Delta scan's files whose types contain a {@code Seq}. If the scan has all files
 * of a snapshot, they are listed late.
 */
public abstract class LateDeltaFiles extends TahoeBatchFileIndex {
  /** Create the files of a scan, of which some may be known already. */
  protected LateDeltaFiles(
      SparkSession spark,
      String action,
      List<AddFile> files,
      DeltaLog log,
      Path path,
      SnapshotDescriptor snapshot) {
    super(spark, action, Scala.seq(files), log, path, snapshot, false);
  }

  /** Return the files if they are listed late, else null. */
  protected abstract List<AddFile> late();

  /**
   * Return the files. Only a reader that runs before lakesieve's selection gets all files of a
   * snapshot.
   */
  @Override
  public Seq<AddFile> addFiles() {
    List<AddFile> late = late();
    return late == null ? super.addFiles() : Scala.seq(late);
  }

  /** Return the files. Delta selects from them only by conditions on partition columns. */
  @Override
  public Seq<AddFile> matchingFiles(Seq<Expression> partitionFilters, Seq<Expression> dataFilters) {
    if (partitionFilters.isEmpty()) return addFiles();
    return super.matchingFiles(partitionFilters, dataFilters);
  }
}
