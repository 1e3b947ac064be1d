package lakesieve.deletes;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileMetadata;
import org.apache.iceberg.Metrics;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.RowDelta;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.types.Conversions;
import org.apache.iceberg.types.Types;

/**
 * Commits a conversion: removes equality delete files and adds position deletes.
 *
 * <p>It is a row delta, not a rewrite, because a row delta checks that the data files and the removed
 * delete files still exist, and that no other commit added a deletion vector to a data file.
 */
public final class DeleteCommit {
  private static final String MARK = "lakesieve-conversion";

  private final DeletePlan plan;

  /** For the work of one plan. */
  public DeleteCommit(DeletePlan plan) {
    this.plan = plan;
  }

  /**
   * Commit a unit, whatever has changed in the table since it was planned.
   *
   * @param written JSON, a list of texts for each new file: file, data file, offset, length,
   *     positions, file size, first and last position
   * @param id identifies this commit in the summary of its snapshot
   * @return "committed", "rejected" with the reason, or "unknown" with the reason
   */
  public String commit(
      Table table, String branch, int unit, boolean dangling, String written, String id)
      throws Exception {
    List<DeleteFile> removed = plan.removableDeletes(unit, dangling);
    Set<CharSequence> dataFiles = new HashSet<>();
    List<DeleteFile> added = new ArrayList<>();
    for (String[] output : (String[][]) new ObjectMapper().readValue(written, String[][].class)) {
      added.add(file(output));
      dataFiles.add(output[1]);
      if (plan.formatVersion() >= 3) removed.addAll(plan.replacedDeletes(output[1]));
    }
    try {
      RowDelta delta = table.newRowDelta();
      if (branch != null) delta = (RowDelta) delta.toBranch(branch);
      delta.validateFromSnapshot(plan.snapshot().snapshotId());
      delta.validateDataFilesExist(dataFiles);
      delta.validateDeletedFiles();
      for (DeleteFile file : removed) delta.removeDeletes(file);
      for (DeleteFile file : added) delta.addDeletes(file);
      delta.set(MARK, id);
      delta.commit();
      return "committed";
    } catch (RuntimeException failure) {
      return outcome(table, id, failure);
    }
  }

  /** The result of a failed commit: looks for its mark in the table's snapshots. */
  private static String outcome(Table table, String id, RuntimeException failure) {
    String kind = failure.getClass().getSimpleName();
    String reason = kind + ": " + failure.getMessage();
    try {
      table.refresh();
      for (Snapshot snapshot : table.snapshots()) {
        if (id.equals(snapshot.summary().get(MARK))) return "committed";
      }
    } catch (RuntimeException e) {
      return "unknown\0" + reason;
    }
    switch (kind) {
      // thrown before the commit is tried, or when the catalog has refused it
      case "ValidationException":
      case "CommitFailedException":
      case "IllegalArgumentException":
        return "rejected\0" + reason;
      default:
        return "unknown\0" + reason;
    }
  }

  private DeleteFile file(String[] output) {
    DataFile data = plan.affectedFile(output[1]);
    PartitionSpec spec = plan.spec(data.specId());
    long count = Long.parseLong(output[4]);
    FileMetadata.Builder builder =
        FileMetadata.deleteFileBuilder(spec)
            .ofPositionDeletes()
            .withPath(output[0])
            .withFileSizeInBytes(Long.parseLong(output[5]))
            .withReferencedDataFile(output[1])
            .withRecordCount(count);
    if (!spec.isUnpartitioned()) builder = builder.withPartition(data.partition());
    if (plan.formatVersion() >= 3) {
      builder =
          builder
              .withFormat("puffin")
              .withContentOffset(Long.parseLong(output[2]))
              .withContentSizeInBytes(Long.parseLong(output[3]));
    } else {
      builder = builder.withFormat("parquet").withMetrics(metrics(output, count));
    }
    return builder.build();
  }

  /** Bounds, by which readers that ignore the referenced data file find the one they belong to. */
  private static Metrics metrics(String[] output, long count) {
    int path = MetadataColumns.DELETE_FILE_PATH.fieldId();
    int position = MetadataColumns.DELETE_FILE_POS.fieldId();
    Map<Integer, ByteBuffer> lower = new HashMap<>();
    Map<Integer, ByteBuffer> upper = new HashMap<>();
    ByteBuffer pathBound = Conversions.toByteBuffer(Types.StringType.get(), output[1]);
    lower.put(path, pathBound);
    upper.put(path, pathBound);
    lower.put(position, Conversions.toByteBuffer(Types.LongType.get(), Long.valueOf(output[6])));
    upper.put(position, Conversions.toByteBuffer(Types.LongType.get(), Long.valueOf(output[7])));
    Map<Integer, Long> none = Collections.emptyMap();
    return new Metrics(count, null, none, none, none, lower, upper);
  }
}
