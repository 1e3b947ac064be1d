package lakesieve.delta;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.net.URISyntaxException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.zip.DeflaterOutputStream;
import java.util.zip.InflaterInputStream;
import lakesieve.files.CatalogueFiles;
import lakesieve.files.FileGroup;
import lakesieve.files.KeepSet;
import lakesieve.files.PathSet;
import lakesieve.spark.Scala;
import org.apache.hadoop.fs.FileStatus;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.AddFile;

/**
 * The data files of a Delta snapshot in little memory. They are packed in groups, and a group is
 * unpacked only if one of its files may be kept.
 *
 * <p>The files are listed once; for large tables, one part of the log at a time. The files of a
 * later version follow from them and the commits in between.
 */
public final class SnapshotFiles {
  // with more files, Delta's log is read in parts, which takes a job for each part
  private static final long MOST_AT_ONCE = 20_000;
  private static final int GROUP_SIZE = 256;
  // the position of the statistics in an AddFile, which a planned scan does not need
  private static final int STATS = 5;

  /**
   * Some files of the snapshot.
   *
   * @param packed the files themselves, serialized and compressed
   * @param digests of their paths
   * @param size bytes of the files in storage
   * @param hasDeletes whether some file has a deletion vector
   */
  private record PackedGroup(byte[] packed, FileGroup digests, long size, boolean hasDeletes) {
    long bytes() {
      return packed.length + digests.bytes() + 50;
    }
  }

  private final String root;
  private final String table;
  private final long version;
  private final FileStatus commit; // of the version, or null
  private final List<PackedGroup> groups = new ArrayList<>();
  private byte[] secret;
  private int count = 0;
  private long size = 0;

  /** List the files of a snapshot; their digests begin with a secret, see {@link PathSet}. */
  public SnapshotFiles(Snapshot snapshot, byte[] secret) throws Exception {
    this(snapshot, LogChanges.commit(snapshot).orElse(null), secret);
    var checksum = snapshot.checksumOpt();
    long files = checksum.isDefined() ? checksum.get().numFiles() : snapshot.numOfFiles();
    if (files > MOST_AT_ONCE) {
      pack(snapshot.allFiles().toLocalIterator());
    } else {
      var scan = snapshot.filesForScan(Scala.seq(List.of()), false);
      pack(Scala.list(scan.files()).iterator());
    }
  }

  private SnapshotFiles(Snapshot snapshot, FileStatus commit, byte[] secret) {
    this.root = snapshot.deltaLog().dataPath().toString();
    this.table = snapshot.metadata().id();
    this.version = snapshot.version();
    this.commit = commit;
    this.secret = secret;
  }

  /**
   * Return the files of a later version of the table, from the changes of its commits.
   *
   * @return null where that is not certain: without the log of the commits in between, or where the
   *     version has another number of files, or of bytes, than Delta notes for it
   */
  public SnapshotFiles after(Snapshot snapshot, byte[] secret) {
    try {
      return followed(snapshot, secret);
    } catch (Exception e) {
      return null; // the log cannot be read; Delta says so, if it needs it
    }
  }

  private SnapshotFiles followed(Snapshot snapshot, byte[] secret) throws Exception {
    // the number that Delta has written with the version; the snapshot's own count takes a job
    var checksum = snapshot.checksumOpt();
    if (commit == null || checksum.isEmpty()) return null;
    if (!table.equals(snapshot.metadata().id())) return null;
    LogChanges changes = LogChanges.between(commit, snapshot).orElse(null);
    if (changes == null) return null;
    SnapshotFiles later = new SnapshotFiles(snapshot, changes.last(), secret);
    CatalogueFiles named = changes.named(secret);
    List<AddFile> rest = new ArrayList<>(changes.added());
    for (PackedGroup group : groups(secret)) {
      // the last group, if it is not full, gets more files
      boolean isFull = group.digests().files() == GROUP_SIZE;
      if (isFull && !group.digests().hasAny(named)) {
        later.add(group);
        continue;
      }
      for (AddFile file : unpacked(group)) {
        if (!changes.names(file)) rest.add(file);
      }
    }
    later.pack(rest.iterator());
    var noted = checksum.get();
    boolean isWhole = later.count == noted.numFiles() && later.size == noted.tableSizeBytes();
    return isWhole ? later : null;
  }

  /** True for a later version of the same table. */
  public boolean isAfter(SnapshotFiles other) {
    return table.equals(other.table) && version > other.version;
  }

  /** Number of files. */
  public int count() {
    return count;
  }

  /** Bytes of the files in storage. */
  public long size() {
    return size;
  }

  /** Bytes of memory that the files take here. */
  public synchronized long bytes() {
    return 300 + groups.stream().mapToLong(PackedGroup::bytes).sum();
  }

  /** All files. */
  public List<AddFile> all() {
    List<AddFile> all = new ArrayList<>(count);
    try {
      for (PackedGroup group : groups()) all.addAll(unpacked(group));
    } catch (IOException | ClassNotFoundException e) {
      throw new IllegalStateException("the files of a Delta snapshot cannot be unpacked", e);
    }
    return all;
  }

  /** The files of the groups in which a file may be kept. */
  public List<AddFile> candidates(KeepSet keep) throws Exception {
    List<AddFile> candidates = new ArrayList<>();
    for (PackedGroup group : groups(keep.secret())) {
      if (keep.mayKeep(group.digests())) candidates.addAll(unpacked(group));
    }
    return candidates;
  }

  /**
   * Return the files without deletion vectors.
   *
   * @param secret that the digests of their paths begin with
   */
  public List<FileGroup> withoutDeletes(byte[] secret) throws Exception {
    List<FileGroup> all = new ArrayList<>();
    for (PackedGroup group : groups(secret)) {
      if (!group.hasDeletes()) {
        all.add(group.digests());
        continue;
      }
      List<AddFile> whole = new ArrayList<>(unpacked(group));
      whole.removeIf(file -> file.deletionVector() != null);
      all.add(digests(whole, secret));
    }
    return all;
  }

  private synchronized List<PackedGroup> groups() {
    return List.copyOf(groups);
  }

  /** The groups with digests that begin with a secret. */
  private synchronized List<PackedGroup> groups(byte[] secret) throws Exception {
    if (!Arrays.equals(secret, this.secret)) {
      List<PackedGroup> digested = new ArrayList<>();
      for (PackedGroup group : groups) {
        FileGroup digests = digests(unpacked(group), secret);
        digested.add(new PackedGroup(group.packed(), digests, group.size(), group.hasDeletes()));
      }
      groups.clear();
      groups.addAll(digested);
      this.secret = secret;
    }
    return groups();
  }

  /** Add files in groups, in their order. */
  private void pack(Iterator<AddFile> files) throws Exception {
    List<AddFile> group = new ArrayList<>(GROUP_SIZE);
    while (files.hasNext()) {
      group.add(withoutStatistics(files.next()));
      if (group.size() < GROUP_SIZE && files.hasNext()) continue;
      long bytes = group.stream().mapToLong(AddFile::size).sum();
      boolean hasDeletes = group.stream().anyMatch(file -> file.deletionVector() != null);
      add(new PackedGroup(packed(group), digests(group, secret), bytes, hasDeletes));
      group.clear();
    }
  }

  private void add(PackedGroup group) {
    groups.add(group);
    count += group.digests().files();
    size += group.size();
  }

  private static byte[] packed(List<AddFile> files) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (var out = new ObjectOutputStream(new DeflaterOutputStream(bytes))) {
      out.writeObject(files.toArray(new AddFile[0]));
    }
    return bytes.toByteArray();
  }

  private static List<AddFile> unpacked(PackedGroup group)
      throws IOException, ClassNotFoundException {
    var bytes = new ByteArrayInputStream(group.packed());
    try (var in = new ObjectInputStream(new InflaterInputStream(bytes))) {
      return Arrays.asList((AddFile[]) in.readObject());
    }
  }

  private FileGroup digests(List<AddFile> files, byte[] secret) throws URISyntaxException {
    List<String> paths = new ArrayList<>();
    for (AddFile file : files) paths.add(DeltaFiles.path(root, file.path()));
    return FileGroup.of(paths.iterator(), secret);
  }

  /** Copy a file; the number of its fields differs between versions of Delta. */
  private static AddFile withoutStatistics(AddFile file) throws ReflectiveOperationException {
    if (file.stats() == null || file.productElement(STATS) != file.stats()) return file;
    Object[] fields = new Object[file.productArity()];
    for (int i = 0; i < fields.length; i++) fields[i] = file.productElement(i);
    fields[STATS] = null;
    return (AddFile) AddFile.class.getConstructors()[0].newInstance(fields);
  }
}
