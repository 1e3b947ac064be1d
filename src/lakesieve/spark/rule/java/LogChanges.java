package lakesieve;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.Action$;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.RemoveFile;

/**
 * What some commits of a Delta table did to its data files: of each file that they name, whether it is
 * there after the last of them.
 *
 * <p>A file is known by its path and its deletion vector, as in Delta's protocol.
 */
public final class LogChanges {
  private static final int COMMITS = 100;
  private static final long BYTES = 32L << 20;

  private final String root;
  private final Map<String, AddFile> files = new LinkedHashMap<>(); // null for one that is gone

  private final FileStatus last;

  private LogChanges(String root, FileStatus last) {
    this.root = root;
    this.last = last;
  }

  /**
   * The changes between two versions, from the log.
   *
   * @param before the commit of the first version, as it was when that was read
   * @param snapshot the later version
   * @return null where the log does not tell, or tells too much to be read here
   */
  public static LogChanges between(FileStatus before, Snapshot snapshot) throws Exception {
    DeltaLog log = snapshot.deltaLog();
    Configuration conf = log.newDeltaHadoopConf();
    List<FileStatus> commits = commits(log, version(before.getPath()), snapshot.version(), conf);
    if (commits == null || !isSame(before, (FileStatus) commits.get(0))) return null;
    FileStatus last = (FileStatus) commits.get(commits.size() - 1);
    LogChanges changes = new LogChanges(log.dataPath().toString(), last);
    for (FileStatus commit : commits.subList(1, commits.size())) {
      scala.collection.Iterator lines = log.store().read(commit, conf).iterator();
      while (lines.hasNext()) {
        if (!changes.apply(Action$.MODULE$.fromJson((String) lines.next()))) return null;
      }
    }
    return changes;
  }

  /** The commit of a version, or null where it is not in the log by that name. */
  public static FileStatus commit(Snapshot snapshot) throws Exception {
    DeltaLog log = snapshot.deltaLog();
    long version = snapshot.version();
    List<FileStatus> commits = commits(log, version, version, log.newDeltaHadoopConf());
    return commits == null ? null : (FileStatus) commits.get(0);
  }

  /** The last commit. */
  public FileStatus last() {
    return this.last;
  }

  /** True for a file that the commits name. */
  public boolean names(AddFile file) throws Exception {
    return this.files.containsKey(key(file.path(), file.getDeletionVectorUniqueId()));
  }

  /** Files that were added, and not removed again. */
  public List<AddFile> added() {
    List<AddFile> added = new ArrayList<>();
    for (AddFile file : this.files.values()) {
      if (file != null) added.add(file);
    }
    return added;
  }

  /** All files that are named, with digests that begin with a secret. */
  public CatalogueFiles named(byte[] secret) {
    CatalogueFiles named = new CatalogueFiles(this.files.size());
    for (String key : this.files.keySet()) {
      byte[] digest = PathSet.digest(secret, key.substring(0, key.indexOf('\0')));
      named.add(Arrays.copyOf(digest, 16));
    }
    return named;
  }

  /** False for what cannot be applied: a path that may be spelled in another way elsewhere. */
  private boolean apply(Action action) throws Exception {
    if (action instanceof AddFile) {
      AddFile file = (AddFile) action;
      this.files.put(key(file.path(), file.getDeletionVectorUniqueId()), file);
      return isRelative(file.path());
    }
    if (action instanceof RemoveFile) {
      RemoveFile file = (RemoveFile) action;
      this.files.put(key(file.path(), file.getDeletionVectorUniqueId()), null);
      return isRelative(file.path());
    }
    return action != null;
  }

  private String key(String path, scala.Option vector) throws Exception {
    return DeltaFiles.path(this.root, path) + '\0' + (vector.isDefined() ? vector.get() : "");
  }

  private static boolean isRelative(String path) {
    return !path.startsWith("/") && path.indexOf(':') < 0;
  }

  private static boolean isSame(FileStatus a, FileStatus b) {
    return a.getLen() == b.getLen() && a.getModificationTime() == b.getModificationTime();
  }

  /** The commits of all versions from the first to the last; null if one is missing or they are too large. */
  private static List<FileStatus> commits(
      DeltaLog log, long first, long last, Configuration conf) throws Exception {
    if (last < first || last - first > COMMITS) return null;
    List<FileStatus> commits = new ArrayList<>();
    long bytes = 0;
    scala.collection.Iterator each =
        log.store().listFrom(new Path(log.logPath(), name(first)), conf);
    while (each.hasNext() && first + commits.size() <= last) {
      FileStatus file = (FileStatus) each.next();
      String wanted = name(first + commits.size());
      int order = file.getPath().getName().compareTo(wanted);
      if (order > 0) return null;
      if (order < 0) continue;
      if (!commits.isEmpty()) bytes += file.getLen();
      commits.add(file);
    }
    return first + commits.size() > last && bytes <= BYTES ? commits : null;
  }

  private static String name(long version) {
    return String.format("%020d.json", new Object[] {version});
  }

  private static long version(Path commit) {
    String name = commit.getName();
    return Long.parseLong(name.substring(0, name.indexOf('.')));
  }
}
