package lakesieve.deletes;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.ManifestFiles;
import org.apache.iceberg.ManifestReader;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.util.ContentFileUtil;

/** The equality delete files of a version, by kind. One join can apply all deletes of a kind. */
final class EqualityFiles {
  /** The group of a delete file that applies to all partitions. */
  private static final int EVERYWHERE = -1;

  /** One delete file. */
  static final class Entry {
    final DeleteFile file;
    final int kind; // its number
    final int group; // the node of the partition that it applies to, or EVERYWHERE
    final int node; // of the file itself
    private boolean reaches = false;

    private Entry(DeleteFile file, int kind, int group, int node) {
      this.file = file;
      this.kind = kind;
      this.group = group;
      this.node = node;
    }

    /** True when the file may reach at least one data file. */
    boolean reaches() {
      return reaches;
    }
  }

  /** Delete files with the same equality columns, either all partitioned or all not. */
  static final class Kind {
    final SortedSet<Integer> ids; // field ids of the equality columns
    final boolean everywhere; // they apply to all partitions
    private long files = 0;
    private long records = 0;
    private long reaching = 0;

    private Kind(SortedSet<Integer> ids, boolean everywhere) {
      this.ids = Collections.unmodifiableSortedSet(ids);
      this.everywhere = everywhere;
    }

    long files() {
      return files;
    }

    long records() {
      return records;
    }

    /** Number of delete files that may reach at least one data file. */
    long reaching() {
      return reaching;
    }
  }

  private final Map<Integer, PartitionSpec> specs;
  private final FileUnits units;
  private final List<Entry> entries = new ArrayList<>();
  private final List<Kind> kinds = new ArrayList<>();
  private final Map<String, Entry> byLocation = new HashMap<>();
  private long positionFiles = 0;
  private long vectors = 0;

  /**
   * Make an empty set of delete files.
   *
   * @param specs the partition specs of the table, by id
   * @param units get a node for each delete file
   */
  EqualityFiles(Map<Integer, PartitionSpec> specs, FileUnits units) {
    this.specs = specs;
    this.units = units;
  }

  /** The delete files, in the order in which they were found. */
  List<Entry> entries() {
    return Collections.unmodifiableList(entries);
  }

  /** The kinds. The position of a kind in the list is its number. */
  List<Kind> kinds() {
    return Collections.unmodifiableList(kinds);
  }

  /** Number of position delete files, without deletion vectors. */
  long positionFiles() {
    return positionFiles;
  }

  /** Number of deletion vectors. */
  long vectors() {
    return vectors;
  }

  /** Ids of all equality columns, in the order of the kinds. */
  Set<Integer> ids() {
    Set<Integer> ids = new LinkedHashSet<>();
    for (Kind kind : kinds) ids.addAll(kind.ids);
    return ids;
  }

  /** Add the equality delete files of a snapshot, and count its other delete files. */
  void list(Table table, Snapshot snapshot) throws IOException {
    FileIO io = table.io();
    for (ManifestFile manifest : snapshot.deleteManifests(io)) {
      try (ManifestReader<DeleteFile> reader =
          ManifestFiles.readDeleteManifest(manifest, io, specs)) {
        for (DeleteFile file : reader) {
          if (isEquality(file)) {
            if (!byLocation.containsKey(file.location())) add(file.copyWithoutStats());
          } else if (ContentFileUtil.isDV(file)) {
            vectors++;
          } else {
            positionFiles++;
          }
        }
      }
    }
  }

  /** The entry of a delete file, which is marked as reaching a data file. */
  Entry reaching(DeleteFile file) {
    Entry entry = byLocation.get(file.location());
    if (entry == null) entry = add(file);
    if (!entry.reaches) kinds.get(entry.kind).reaching++;
    entry.reaches = true;
    return entry;
  }

  /** True for an equality delete file. */
  static boolean isEquality(DeleteFile file) {
    return file.content() == FileContent.EQUALITY_DELETES;
  }

  /** The position delete files and deletion vectors among delete files. */
  static List<DeleteFile> others(List<DeleteFile> deletes) {
    return deletes.stream().filter(file -> !isEquality(file)).toList();
  }

  private Entry add(DeleteFile file) {
    boolean everywhere = specs.get(file.specId()).isUnpartitioned();
    int number = kind(new TreeSet<>(file.equalityFieldIds()), everywhere);
    int group = everywhere ? EVERYWHERE : units.group(file);
    Entry entry = new Entry(file, number, group, units.newNode());
    Kind kind = kinds.get(number);
    kind.files++;
    kind.records += file.recordCount();
    entries.add(entry);
    byLocation.put(file.location(), entry);
    return entry;
  }

  /** The number of the kind with these equality columns. */
  private int kind(SortedSet<Integer> ids, boolean everywhere) {
    for (int number = 0; number < kinds.size(); number++) {
      Kind known = kinds.get(number);
      if (known.everywhere == everywhere && known.ids.equals(ids)) return number;
    }
    kinds.add(new Kind(ids, everywhere));
    return kinds.size() - 1;
  }
}
