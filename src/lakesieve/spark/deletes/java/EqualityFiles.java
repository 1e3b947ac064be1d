package lakesieve.deletes;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.ManifestFiles;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.util.ContentFileUtil;

/** The equality delete files of a version, by kind: those of one kind can be applied by one join. */
public final class EqualityFiles {
  private static final int EVERYWHERE = -1;

  /** One delete file. */
  public static final class Entry {
    public DeleteFile file;
    public int kind;
    public int group; // the node of its partition, EVERYWHERE for all of them
    public int node;
    public boolean reaches; // some data file
  }

  /** Delete files with the same equality columns, in partitions or not. */
  public static final class Kind {
    public TreeSet ids; // of the equality columns
    public boolean everywhere;
    public long files = 0;
    public long records = 0;
    public long reaching = 0; // delete files that reach some data file
  }

  public final List<Entry> entries = new ArrayList<Entry>();
  public final List<Kind> kinds = new ArrayList<Kind>();
  public long positionFiles = 0;
  public long vectors = 0;

  private final Table table;
  private final FileUnits units;
  private final Map byLocation = new HashMap();

  public EqualityFiles(Table table, FileUnits units) {
    this.table = table;
    this.units = units;
  }

  /** Add all delete files of a snapshot; others than equality deletes are counted. */
  public void list(Snapshot snapshot) throws Exception {
    for (Iterator m = snapshot.deleteManifests(table.io()).iterator(); m.hasNext(); ) {
      CloseableIterable files =
          ManifestFiles.readDeleteManifest((ManifestFile) m.next(), table.io(), table.specs());
      try {
        for (Iterator it = files.iterator(); it.hasNext(); ) {
          DeleteFile file = (DeleteFile) it.next();
          if (file.content() == FileContent.EQUALITY_DELETES) {
            if (!byLocation.containsKey(file.location())) add((DeleteFile) file.copyWithoutStats());
          } else if (ContentFileUtil.isDV(file)) {
            vectors++;
          } else {
            positionFiles++;
          }
        }
      } finally {
        files.close();
      }
    }
  }

  /** Note that a delete file reaches a data file. */
  public Entry reaching(DeleteFile file) {
    Entry e = (Entry) byLocation.get(file.location());
    if (e == null) e = add(file);
    if (!e.reaches) ((Kind) kinds.get(e.kind)).reaching++;
    e.reaches = true;
    return e;
  }

  private Entry add(DeleteFile file) {
    PartitionSpec spec = (PartitionSpec) table.specs().get(Integer.valueOf(file.specId()));
    boolean everywhere = spec.isUnpartitioned();
    Entry e = new Entry();
    e.file = file;
    e.group = everywhere ? EVERYWHERE : units.group(file);
    e.node = units.newNode();
    e.kind = kind(new TreeSet(file.equalityFieldIds()), everywhere);
    Kind kind = (Kind) kinds.get(e.kind);
    kind.files++;
    kind.records += file.recordCount();
    entries.add(e);
    byLocation.put(file.location(), e);
    return e;
  }

  private int kind(TreeSet ids, boolean everywhere) {
    for (int i = 0; i < kinds.size(); i++) {
      Kind k = (Kind) kinds.get(i);
      if (k.everywhere == everywhere && k.ids.equals(ids)) return i;
    }
    Kind k = new Kind();
    k.ids = ids;
    k.everywhere = everywhere;
    kinds.add(k);
    return kinds.size() - 1;
  }
}
