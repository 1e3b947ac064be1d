package lakesieve.deletes;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.Iterator;
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
 * The commit of a conversion: equality delete files out, position deletes in.
 *
 * <p>A row delta and not a rewrite: it checks that the data files are still there, that the removed
 * delete files are, and that nobody else gave a data file a deletion vector.
 */
public final class DeleteCommit {
  private static final String MARK = "lakesieve-conversion";

  private final DeletePlan plan;

  public DeleteCommit(DeletePlan plan) {
    this.plan = plan;
  }

  /**
   * Commit a unit, against whatever the table has become since it was planned.
   *
   * @param written JSON, one list of texts an output: file, data file, offset, length, positions,
   *     file size, first and last position
   * @return "committed", "rejected" and why, or "unknown" and why
   */
  public String commit(
      Table live, String branch, int unit, boolean dangling, String written, String id)
      throws Exception {
    List removed = plan.finished(unit, dangling);
    Set references = new HashSet();
    List added = new ArrayList();
    List outputs = (List) new ObjectMapper().readValue(written, List.class);
    for (Iterator it = outputs.iterator(); it.hasNext(); ) {
      String[] output = (String[]) ((List) it.next()).toArray(new String[0]);
      DeleteFile file = file(output);
      added.add(file);
      references.add(output[1]);
      if (plan.formatVersion() >= 3) removed.addAll(plan.replaced(output[1]));
    }
    try {
      RowDelta delta = live.newRowDelta();
      if (branch != null) delta = (RowDelta) delta.toBranch(branch);
      delta.validateFromSnapshot(plan.snapshot().snapshotId());
      delta.validateDataFilesExist(references);
      delta.validateDeletedFiles();
      for (int i = 0; i < removed.size(); i++) delta.removeDeletes((DeleteFile) removed.get(i));
      for (int i = 0; i < added.size(); i++) delta.addDeletes((DeleteFile) added.get(i));
      delta.set(MARK, id);
      delta.commit();
      return "committed";
    } catch (RuntimeException e) {
      return outcome(live, id, e);
    }
  }

  /** What a failed commit came to: read back by its mark. */
  private static String outcome(Table live, String id, RuntimeException failure) {
    String why = failure.getClass().getSimpleName() + ": " + failure.getMessage();
    try {
      live.refresh();
      for (Iterator it = live.snapshots().iterator(); it.hasNext(); ) {
        if (id.equals(((Snapshot) it.next()).summary().get(MARK))) return "committed";
      }
    } catch (RuntimeException e) {
      return "unknown\0" + why;
    }
    String kind = failure.getClass().getSimpleName();
    // what Iceberg throws before it tries, or when the catalog has refused
    boolean refused =
        kind.equals("ValidationException")
            || kind.equals("CommitFailedException")
            || kind.equals("IllegalArgumentException");
    return (refused ? "rejected\0" : "unknown\0") + why;
  }

  private DeleteFile file(String[] output) {
    DataFile data = plan.reachedFile(output[1]);
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

  /** Bounds by which readers older than the reference to the data file find it. */
  private static Metrics metrics(String[] output, long count) {
    Integer path = Integer.valueOf(MetadataColumns.DELETE_FILE_PATH.fieldId());
    Integer pos = Integer.valueOf(MetadataColumns.DELETE_FILE_POS.fieldId());
    Map lower = new java.util.HashMap();
    Map upper = new java.util.HashMap();
    ByteBuffer bound = Conversions.toByteBuffer(Types.StringType.get(), output[1]);
    lower.put(path, bound);
    upper.put(path, bound);
    lower.put(pos, Conversions.toByteBuffer(Types.LongType.get(), Long.valueOf(output[6])));
    upper.put(pos, Conversions.toByteBuffer(Types.LongType.get(), Long.valueOf(output[7])));
    Map none = Collections.emptyMap();
    return new Metrics(Long.valueOf(count), null, none, none, none, lower, upper);
  }
}
