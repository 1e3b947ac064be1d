package lakesieve.delta;

import java.util.ArrayList;
import java.util.List;
import lakesieve.folders.FileRelations;
import lakesieve.spark.Scala;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.SnapshotDescriptor;
import org.apache.spark.sql.delta.actions.Protocol;
import scala.Option;
import scala.collection.immutable.Set;

/** Reads of Delta's data files that tell the position of each row in its file. */
public final class RowPositions {
  private static final String DELETION_VECTORS = "deletionVectors";
  // the first versions that list features
  private static final int READER = 3;
  private static final int WRITER = 7;

  private RowPositions() {}

  /**
   * Return a read of the same files with the metadata column {@code row_index}. Delta has this
   * column only if the table's files may have deletion vectors.
   *
   * @param read a plan with one leaf, which reads files of the snapshot
   */
  public static LogicalPlan read(LogicalPlan read, DeltaLog log, SnapshotDescriptor snapshot) {
    Protocol protocol = snapshot.protocol();
    Protocol with =
        new Protocol(
            Math.max(READER, protocol.minReaderVersion()),
            Math.max(WRITER, protocol.minWriterVersion()),
            withVectors(protocol.readerFeatures()),
            withVectors(protocol.writerFeatures()));
    return FileRelations.with(
        read.collectLeaves().apply(0), log.fileFormat(with, snapshot.metadata()));
  }

  private static Option<Set<String>> withVectors(Option<Set<String>> features) {
    var names = new ArrayList<String>(List.of(DELETION_VECTORS));
    if (features.isDefined()) names.addAll(Scala.list(features.get().toSeq()));
    return Option.apply(Scala.seq(names).toSet());
  }
}
