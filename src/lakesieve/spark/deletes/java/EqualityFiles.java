package lakesieve.deletes;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.ManifestFiles;
import org.apache.iceberg.ManifestReader;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.util.ContentFileUtil;

/** The equality delete files of a version, by kind: one join can apply all deletes of a kind. */
public final class EqualityFiles {
  private static final int EVERYWHERE = -1;

  /** One delete file. */
  public static final class Entry {
    public DeleteFile file;
    public int kind;
    public int group; // the node of its partition, EVERYWHERE if it applies to all of them
    public int node;
    public boolean reaches; // at least one data file
  }

  /** Delete files with the same equality columns, either all partitioned or all not. */
  public static final class Kind {
    public TreeSet<Integer> ids; // of the equality columns
    public boolean everywhere;
    public long files = 0;
    public long records = 0;
    public long reaching = 0; // delete files that reach at least one data file
  }

  public final List<Entry> entries = new ArrayList<>();
  public final List<Kind> kinds = new ArrayList<>();
  public long positionFiles = 0;
  public long vectors = 0;

  private final Table table;
  private final FileUnits units;
  private final Map<String, Entry> byLocation = new HashMap<>();

  /** Without any delete files. */
  public EqualityFiles(Table table, FileUnits units) {
    this.table = table;
    this.units = units;
  }

  /** Add the equality delete files of a snapshot, and count its other delete files. */
  public void list(Snapshot snapshot) throws Exception {
    for (ManifestFile manifest : snapshot.deleteManifests(table.io())) {
      ManifestReader<DeleteFile> reader =
          ManifestFiles.readDeleteManifest(manifest, table.io(), table.specs());
      try {
        for (DeleteFile file : reader) {
          if (file.content() == FileContent.EQUALITY_DELETES) {
            if (!byLocation.containsKey(file.location())) add((DeleteFile) file.copyWithoutStats());
          } else if (ContentFileUtil.isDV(file)) {
            vectors++;
          } else {
            positionFiles++;
          }
        }
      } finally {
        reader.close();
      }
    }
  }

  /** The entry of a delete file, marked as one that reaches a data file. */
  public Entry reaching(DeleteFile file) {
    Entry entry = (Entry) byLocation.get(file.location());
    if (entry == null) entry = add(file);
    if (!entry.reaches) ((Kind) kinds.get(entry.kind)).reaching++;
    entry.reaches = true;
    return entry;
  }

  private Entry add(DeleteFile file) {
    boolean everywhere = ((PartitionSpec) table.specs().get(file.specId())).isUnpartitioned();
    Entry entry = new Entry();
    entry.file = file;
    entry.group = everywhere ? EVERYWHERE : units.group(file);
    entry.node = units.newNode();
    entry.kind = kind(new TreeSet<>(file.equalityFieldIds()), everywhere);
    Kind kind = (Kind) kinds.get(entry.kind);
    kind.files++;
    kind.records += file.recordCount();
    entries.add(entry);
    byLocation.put(file.location(), entry);
    return entry;
  }

  /** The number of the kind with these equality columns. */
  private int kind(TreeSet<Integer> ids, boolean everywhere) {
    int number = 0;
    for (Kind known : kinds) {
      if (known.everywhere == everywhere && known.ids.equals(ids)) return number;
      number++;
    }
    Kind added = new Kind();
    added.ids = ids;
    added.everywhere = everywhere;
    kinds.add(added);
    return number;
  }
}
