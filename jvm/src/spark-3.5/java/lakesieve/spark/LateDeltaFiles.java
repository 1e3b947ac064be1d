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
 * The methods of a Delta scan's files that have a {@code Seq} in their types. The files may be all
 * of a snapshot, and are then listed late.
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

  /** Return the files where they are listed late, else null. */
  protected abstract List<AddFile> late();

  /** Return the files: all of a snapshot only to a reader that comes before lakesieve's choice. */
  @Override
  public Seq<AddFile> addFiles() {
    List<AddFile> late = late();
    return late == null ? super.addFiles() : Scala.seq(late);
  }

  /** Return the files, of which Delta selects by conditions on partition columns alone. */
  @Override
  public Seq<AddFile> matchingFiles(Seq<Expression> partitionFilters, Seq<Expression> dataFilters) {
    if (partitionFilters.isEmpty()) return addFiles();
    return super.matchingFiles(partitionFilters, dataFilters);
  }
}
