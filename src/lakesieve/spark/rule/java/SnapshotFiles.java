package lakesieve;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.zip.Deflater;
import java.util.zip.DeflaterOutputStream;
import java.util.zip.InflaterInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.VersionChecksum;
import org.apache.spark.sql.delta.actions.AddFile;

/**
 * The data files of a Delta snapshot in little memory: some together are packed, and unpacked where one
 * of them may be kept.
 *
 * <p>They are listed once, of large tables a part of the log at a time; those of a later version follow
 * from the commits in between.
 */
public final class SnapshotFiles {
  // of more than these Delta's log is read in its parts, which takes a job for each
  private static final long AT_ONCE = 20000;
  private static final int OF_A_GROUP = 256;
  // the place of the statistics in an AddFile, which a scan does not need once it is planned
  private static final int STATS = 5;

  private final String root;
  private final String table;
  private final long version;
  private final FileStatus commit; // of the version, or null
  private final List<byte[]> packed = new ArrayList<>();
  private final List<FileGroup> groups = new ArrayList<>();
  private byte[] secret;
  private int count = 0;
  private long size = 0;

  /** List the files of a snapshot; their digests begin with a secret, see {@link PathSet}. */
  public SnapshotFiles(Snapshot snapshot, byte[] secret) throws Exception {
    this(snapshot, LogChanges.commit(snapshot), secret);
    List<AddFile> group = new ArrayList<>();
    scala.Option checksum = snapshot.checksumOpt();
    long files =
        checksum.isDefined()
            ? ((VersionChecksum) checksum.get()).numFiles()
            : snapshot.numOfFiles();
    if (files > AT_ONCE) {
      Iterator<AddFile> each = snapshot.allFiles().toLocalIterator();
      while (each.hasNext()) add((AddFile) each.next(), group);
    } else {
      scala.collection.Iterator each =
          snapshot.filesForScan(FileRelations.seq(new ArrayList<>()), false).files().iterator();
      while (each.hasNext()) add((AddFile) each.next(), group);
    }
    if (!group.isEmpty()) pack(group);
  }

  private SnapshotFiles(Snapshot snapshot, FileStatus commit, byte[] secret) {
    this.root = snapshot.deltaLog().dataPath().toString();
    this.table = snapshot.metadata().id();
    this.version = snapshot.version();
    this.commit = commit;
    this.secret = secret;
  }

  /**
   * The files of a later version of the table, by what its commits changed.
   *
   * @return null where that is not certain: without the log of the commits in between, or where the
   *     version has another number of files, or of bytes, than Delta notes for it
   */
  public SnapshotFiles after(Snapshot snapshot, byte[] secret) {
    try {
      return followed(snapshot, secret);
    } catch (Exception e) {
      return null; // a log that cannot be read: Delta says so, if it needs it
    }
  }

  private SnapshotFiles followed(Snapshot snapshot, byte[] secret) throws Exception {
    // what Delta has written with the version; the snapshot's own count takes a job
    scala.Option checksum = snapshot.checksumOpt();
    if (this.commit == null || checksum.isEmpty()) return null;
    if (!this.table.equals(snapshot.metadata().id())) return null;
    LogChanges changes = LogChanges.between(this.commit, snapshot);
    if (changes == null) return null;
    SnapshotFiles later = new SnapshotFiles(snapshot, changes.last(), secret);
    CatalogueFiles named = changes.named(secret);
    List<AddFile> rest = changes.added();
    List<FileGroup> known = known(secret);
    for (int i = 0; i < known.size(); i++) {
      FileGroup group = (FileGroup) known.get(i);
      byte[] data = (byte[]) this.packed.get(i);
      boolean isLast = i == known.size() - 1 && group.files() < OF_A_GROUP;
      if (!isLast && !group.hasAny(named)) {
        later.add(data, group);
        continue;
      }
      for (AddFile file : unpacked(data)) {
        later.size -= file.size();
        if (!changes.names(file)) rest.add(file);
      }
    }
    later.size += this.size;
    for (int start = 0; start < rest.size(); start += OF_A_GROUP) {
      later.pack(rest.subList(start, Math.min(rest.size(), start + OF_A_GROUP)));
    }
    VersionChecksum noted = (VersionChecksum) checksum.get();
    boolean isWhole = later.count == noted.numFiles() && later.size == noted.tableSizeBytes();
    return isWhole ? later : null;
  }

  /** True for a later version of the same table. */
  public boolean isAfter(SnapshotFiles other) {
    return this.table.equals(other.table) && this.version > other.version;
  }

  /** Number of files. */
  public int count() {
    return this.count;
  }

  /** Bytes of the files. */
  public long size() {
    return this.size;
  }

  /** Bytes of memory that they take here. */
  public synchronized long bytes() {
    long held = 300;
    for (byte[] group : this.packed) held += group.length + 50;
    for (FileGroup group : this.groups) held += group.bytes();
    return held;
  }

  /** All files. */
  public List<AddFile> all() {
    List<AddFile> all = new ArrayList<>(this.count);
    try {
      for (byte[] group : this.packed) all.addAll(Arrays.asList(unpacked(group)));
    } catch (Exception e) {
      throw new IllegalStateException("the files of a Delta snapshot cannot be unpacked", e);
    }
    return all;
  }

  /** The files of the groups in which one may be kept. */
  public List<AddFile> candidates(KeepSet keep) throws Exception {
    List<AddFile> found = new ArrayList<>();
    List<FileGroup> known = known(keep.secret());
    for (int i = 0; i < known.size(); i++) {
      if (!keep.mayKeep((FileGroup) known.get(i))) continue;
      found.addAll(Arrays.asList(unpacked((byte[]) this.packed.get(i))));
    }
    return found;
  }

  private synchronized List<FileGroup> known(byte[] secret) throws Exception {
    if (!Arrays.equals(secret, this.secret)) {
      this.groups.clear();
      for (byte[] group : this.packed) this.groups.add(digested(unpacked(group), secret));
      this.secret = secret;
    }
    return new ArrayList<>(this.groups);
  }

  private void add(AddFile file, List<AddFile> group) throws Exception {
    group.add(file);
    if (group.size() < OF_A_GROUP) return;
    pack(group);
    group.clear();
  }

  private void pack(List<AddFile> group) throws Exception {
    AddFile[] files = new AddFile[group.size()];
    for (int i = 0; i < files.length; i++) {
      files[i] = withoutStatistics((AddFile) group.get(i));
      this.size += files[i].size();
    }
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    Deflater deflater = new Deflater(Deflater.DEFAULT_COMPRESSION);
    ObjectOutputStream out = new ObjectOutputStream(new DeflaterOutputStream(bytes, deflater));
    out.writeObject(files);
    out.close();
    deflater.end();
    add(bytes.toByteArray(), digested(files, this.secret));
  }

  private void add(byte[] data, FileGroup group) {
    this.packed.add(data);
    this.groups.add(group);
    this.count += group.files();
  }

  private static AddFile[] unpacked(byte[] group) throws Exception {
    ObjectInputStream in =
        new ObjectInputStream(new InflaterInputStream(new ByteArrayInputStream(group)));
    try {
      return (AddFile[]) in.readObject();
    } finally {
      in.close();
    }
  }

  private FileGroup digested(AddFile[] files, byte[] secret) throws Exception {
    List<String> paths = new ArrayList<>();
    for (AddFile file : files) paths.add(DeltaFiles.path(this.root, file.path()));
    return FileGroup.of(paths.iterator(), secret);
  }

  /** A copy; the number of its fields differs between versions of Delta. */
  private static AddFile withoutStatistics(AddFile file) throws Exception {
    if (file.stats() == null || file.productElement(STATS) != file.stats()) return file;
    Object[] fields = new Object[file.productArity()];
    for (int i = 0; i < fields.length; i++) fields[i] = file.productElement(i);
    fields[STATS] = null;
    return (AddFile) AddFile.class.getConstructors()[0].newInstance(fields);
  }
}
