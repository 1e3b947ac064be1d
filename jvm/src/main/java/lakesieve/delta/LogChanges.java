package lakesieve.delta;

import java.net.URISyntaxException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import lakesieve.files.CatalogueFiles;
import lakesieve.files.PathSet;
import lakesieve.spark.Scala;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.Action$;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.FileAction;
import org.apache.spark.sql.delta.actions.RemoveFile;
import scala.collection.Iterator;

/**
 * The changes that some commits of a Delta table made to its data files: the files that they name,
 * and which of these exist after the last commit.
 */
public final class LogChanges {
  private static final int MOST_COMMITS = 100;
  private static final long MOST_BYTES = 32L << 20;

  /**
   * The identity of a data file, as in Delta's protocol.
   *
   * @param path absolute, see {@link DeltaFiles#path}
   * @param deletionVector unique id of its deletion vector; empty without one
   */
  private record FileKey(String path, String deletionVector) {}

  private final String root;
  private final FileStatus last;
  private final Set<FileKey> named = new LinkedHashSet<>();
  private final Map<FileKey, AddFile> added = new LinkedHashMap<>();

  LogChanges(String root, FileStatus last) {
    this.root = root;
    this.last = last;
  }

  /**
   * Read the changes between two versions from the log.
   *
   * @param before the commit of the first version, as it was when the version was listed
   * @param snapshot the later version
   * @return empty where the log does not tell, or tells too much to be read here
   */
  public static Optional<LogChanges> between(FileStatus before, Snapshot snapshot)
      throws Exception {
    DeltaLog log = snapshot.deltaLog();
    Configuration conf = log.newDeltaHadoopConf();
    List<FileStatus> commits = commits(log, version(before.getPath()), snapshot.version(), conf);
    if (commits.isEmpty() || !isSame(before, commits.get(0))) return Optional.empty();
    FileStatus last = commits.get(commits.size() - 1);
    LogChanges changes = new LogChanges(log.dataPath().toString(), last);
    for (FileStatus commit : commits.subList(1, commits.size())) {
      for (String line : Scala.list(log.store().read(commit, conf))) {
        if (!changes.apply(Action$.MODULE$.fromJson(line))) return Optional.empty();
      }
    }
    return Optional.of(changes);
  }

  /** Find the commit of a version; empty if the log has no such file. */
  public static Optional<FileStatus> commit(Snapshot snapshot) {
    DeltaLog log = snapshot.deltaLog();
    long version = snapshot.version();
    return commits(log, version, version, log.newDeltaHadoopConf()).stream().findFirst();
  }

  /** The last commit. */
  public FileStatus last() {
    return last;
  }

  /** True for a file that the commits name. */
  public boolean names(AddFile file) throws URISyntaxException {
    return named.contains(key(file));
  }

  /** Files that were added and not removed again. */
  public Collection<AddFile> added() {
    return added.values();
  }

  /** All files that the commits name, with digests that begin with a secret. */
  public CatalogueFiles named(byte[] secret) {
    CatalogueFiles files = new CatalogueFiles(named.size());
    for (FileKey key : named) files.add(Arrays.copyOf(PathSet.digest(secret, key.path()), 16));
    return files;
  }

  /**
   * Apply the next action of the log.
   *
   * @return false for what cannot be applied: a path that may be spelled in another way elsewhere
   */
  boolean apply(Action action) throws URISyntaxException {
    if (action instanceof AddFile file) {
      FileKey key = key(file);
      named.add(key);
      added.put(key, file);
      return isRelative(file.path());
    }
    if (action instanceof RemoveFile file) {
      FileKey key = key(file);
      named.add(key);
      added.remove(key);
      return isRelative(file.path());
    }
    return action != null;
  }

  private FileKey key(FileAction file) throws URISyntaxException {
    var vector = file.deletionVector();
    return new FileKey(DeltaFiles.path(root, file.path()), vector == null ? "" : vector.uniqueId());
  }

  private static boolean isRelative(String path) {
    return !path.startsWith("/") && path.indexOf(':') < 0;
  }

  private static boolean isSame(FileStatus a, FileStatus b) {
    return a.getLen() == b.getLen() && a.getModificationTime() == b.getModificationTime();
  }

  private static List<FileStatus> commits(DeltaLog log, long first, long last, Configuration conf) {
    if (last < first || last - first > MOST_COMMITS) return List.of();
    Path from = new Path(log.logPath(), name(first));
    return commits(log.store().listFrom(from, conf), first, last);
  }

  /**
   * Pick the commits of all versions from the first to the last.
   *
   * @param listed the files of the log in order of their names, which may begin later
   * @return nothing if a commit is missing, or those after the first are too large together
   */
  static List<FileStatus> commits(Iterator<FileStatus> listed, long first, long last) {
    List<FileStatus> commits = new ArrayList<>();
    long bytes = 0;
    while (listed.hasNext() && first + commits.size() <= last) {
      FileStatus file = listed.next();
      int order = file.getPath().getName().compareTo(name(first + commits.size()));
      if (order > 0) return List.of();
      if (order < 0) continue;
      if (!commits.isEmpty()) bytes += file.getLen();
      commits.add(file);
    }
    return first + commits.size() > last && bytes <= MOST_BYTES ? commits : List.of();
  }

  private static String name(long version) {
    return "%020d.json".formatted(version);
  }

  private static long version(Path commit) {
    String name = commit.getName();
    return Long.parseLong(name.substring(0, name.indexOf('.')));
  }
}
