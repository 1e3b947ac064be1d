package lakesieve.iceberg;

import java.io.IOException;
import java.util.Map;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.ManifestFiles;
import org.apache.iceberg.ManifestReader;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.util.ContentFileUtil;

/** Counts the position deletes of one snapshot of an Iceberg table. */
public final class IcebergDeletes {
  private IcebergDeletes() {}

  /**
   * Count data files, data files with position deletes or a deletion vector by Iceberg's own
   * planning, and position delete files.
   *
   * @param id the snapshot's id, or null for a table without data, which has no counts
   */
  public static Map<String, Integer> counts(Table table, String id) throws IOException {
    if (id == null) return Map.of();
    Snapshot snapshot = table.snapshot(Long.parseLong(id));
    int deleteFiles = positionFiles(table, snapshot);
    int files = 0;
    int marked = 0;
    try (CloseableIterable<FileScanTask> tasks =
        table.newScan().useSnapshot(snapshot.snapshotId()).planFiles()) {
      for (FileScanTask task : tasks) {
        files++;
        if (task.deletes().stream().anyMatch(IcebergDeletes::hasPositions)) marked++;
      }
    }
    return Map.of("delete_files", deleteFiles, "files", files, "marked_files", marked);
  }

  private static boolean hasPositions(DeleteFile file) {
    return file.content() == FileContent.POSITION_DELETES;
  }

  private static int positionFiles(Table table, Snapshot snapshot) throws IOException {
    int count = 0;
    for (ManifestFile manifest : snapshot.deleteManifests(table.io())) {
      try (ManifestReader<DeleteFile> reader =
          ManifestFiles.readDeleteManifest(manifest, table.io(), table.specs())) {
        for (DeleteFile file : reader) {
          if (hasPositions(file) && !ContentFileUtil.isDV(file)) count++;
        }
      }
    }
    return count;
  }
}
