package lakesieve.deletes;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileMetadata;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.Metrics;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.RowDelta;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.types.Conversions;
import org.apache.iceberg.types.Types;

/**
 * Commits a conversion: removes equality delete files and adds position deletes.
 *
 * <p>It is a row delta, not a rewrite. A row delta checks that the data files and the removed
 * delete files still exist, and that no other commit added a deletion vector to a data file.
 */
public final class DeleteCommit {
  private static final String MARK = "lakesieve-conversion";
  private static final int VECTORS_SINCE = 3;

  private final DeletePlan plan;

  /** Create the commits of one plan. */
  public DeleteCommit(DeletePlan plan) {
    this.plan = plan;
  }

  /**
   * Commit a unit to the current state of the table, which may be newer than the plan.
   *
   * @param branch the branch that gets the commit; null for main
   * @param dangling also remove delete files that reach no data file
   * @param written a JSON list of {@link WrittenFile}
   * @param id identifies this commit in the summary of its snapshot
   */
  public CommitOutcome commit(
      Table table, String branch, int unit, boolean dangling, String written, String id)
      throws JsonProcessingException {
    List<DeleteFile> removed = new ArrayList<>(plan.removableDeletes(unit, dangling));
    Set<CharSequence> dataFiles = new HashSet<>();
    List<DeleteFile> added = new ArrayList<>();
    for (WrittenFile output : new ObjectMapper().readValue(written, WrittenFile[].class)) {
      added.add(deleteFile(output));
      dataFiles.add(output.dataFile());
      if (hasVectors()) removed.addAll(plan.replacedDeletes(output.dataFile()));
    }
    try {
      RowDelta delta = table.newRowDelta();
      if (branch != null) delta = delta.toBranch(branch);
      delta.validateFromSnapshot(plan.version().snapshot().snapshotId());
      delta.validateDataFilesExist(dataFiles);
      delta.validateDeletedFiles();
      removed.forEach(delta::removeDeletes);
      added.forEach(delta::addDeletes);
      delta.set(MARK, id);
      delta.commit();
      return CommitOutcome.committed();
    } catch (RuntimeException failure) {
      return outcome(table, id, failure);
    }
  }

  /**
   * Return the outcome of a commit that raised an error. If a snapshot has the mark of the commit,
   * the commit was made. Otherwise, the kind of the error decides.
   */
  private static CommitOutcome outcome(Table table, String id, RuntimeException failure) {
    String kind = failure.getClass().getSimpleName();
    String reason = kind + ": " + failure.getMessage();
    try {
      table.refresh();
      for (Snapshot snapshot : table.snapshots()) {
        if (id.equals(snapshot.summary().get(MARK))) return CommitOutcome.committed();
      }
    } catch (RuntimeException e) {
      return CommitOutcome.unknown(reason);
    }
    return switch (kind) {
      // Iceberg throws these before it commits, or after the catalog has refused the commit
      case "ValidationException", "CommitFailedException", "IllegalArgumentException" ->
          CommitOutcome.rejected(reason);
      default -> CommitOutcome.unknown(reason);
    };
  }

  private boolean hasVectors() {
    return plan.formatVersion() >= VECTORS_SINCE;
  }

  private DeleteFile deleteFile(WrittenFile output) {
    DataFile data = plan.affectedFile(output.dataFile());
    PartitionSpec spec = plan.spec(data.specId());
    FileMetadata.Builder builder =
        FileMetadata.deleteFileBuilder(spec)
            .ofPositionDeletes()
            .withPath(output.file())
            .withFileSizeInBytes(output.size())
            .withReferencedDataFile(output.dataFile())
            .withRecordCount(output.positions());
    if (!spec.isUnpartitioned()) builder.withPartition(data.partition());
    if (hasVectors()) {
      builder
          .withFormat(FileFormat.PUFFIN)
          .withContentOffset(output.offset())
          .withContentSizeInBytes(output.length());
    } else {
      builder.withFormat(FileFormat.PARQUET).withMetrics(metrics(output));
    }
    return builder.build();
  }

  /**
   * Return the bounds of the columns file_path and pos. By these bounds, a reader that ignores the
   * referenced data file finds the delete file.
   */
  private static Metrics metrics(WrittenFile output) {
    int path = MetadataColumns.DELETE_FILE_PATH.fieldId();
    int position = MetadataColumns.DELETE_FILE_POS.fieldId();
    ByteBuffer file = Conversions.toByteBuffer(Types.StringType.get(), output.dataFile());
    ByteBuffer first = Conversions.toByteBuffer(Types.LongType.get(), output.first());
    ByteBuffer last = Conversions.toByteBuffer(Types.LongType.get(), output.last());
    Map<Integer, Long> none = Map.of();
    return new Metrics(
        output.positions(),
        null,
        none,
        none,
        none,
        Map.of(path, file, position, first),
        Map.of(path, file, position, last));
  }
}
