package lakesieve;

import java.util.LinkedHashMap;
import java.util.List;
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
   * Counts of data files, of those with position deletes or a deletion vector by Iceberg's own
   * planning, and of position delete files.
   *
   * @param id the snapshot's id, or null for a table without data
   */
  public static Map<String, Object> counts(Table table, String id) throws Exception {
    Map<String, Object> counts = new LinkedHashMap<>();
    if (id != null) {
      Snapshot snapshot = table.snapshot(Long.parseLong(id));
      counts.put("delete_files", positionFiles(table, snapshot));
      countFiles(table, snapshot, counts);
    }
    return counts;
  }

  private static void countFiles(Table table, Snapshot snapshot, Map<String, Object> counts)
      throws Exception {
    int files = 0;
    int marked = 0;
    CloseableIterable<FileScanTask> tasks =
        table.newScan().useSnapshot(snapshot.snapshotId()).planFiles();
    try {
      for (FileScanTask task : tasks) {
        files++;
        if (hasPositions(task.deletes())) marked++;
      }
    } finally {
      tasks.close();
    }
    counts.put("files", files);
    counts.put("marked_files", marked);
  }

  private static boolean hasPositions(List<DeleteFile> deletes) {
    for (DeleteFile delete : deletes) {
      if (delete.content() == FileContent.POSITION_DELETES) return true;
    }
    return false;
  }

  private static int positionFiles(Table table, Snapshot snapshot) throws Exception {
    int count = 0;
    for (ManifestFile manifest : snapshot.deleteManifests(table.io())) {
      ManifestReader<DeleteFile> reader =
          ManifestFiles.readDeleteManifest(manifest, table.io(), table.specs());
      try {
        for (DeleteFile file : reader) {
          if (file.content() == FileContent.POSITION_DELETES && !ContentFileUtil.isDV(file)) count++;
        }
      } finally {
        reader.close();
      }
    }
    return count;
  }
}
