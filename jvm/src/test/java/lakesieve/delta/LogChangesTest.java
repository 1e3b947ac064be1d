package lakesieve.delta;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import lakesieve.files.CatalogueFiles;
import lakesieve.files.PathSet;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.RemoveFile;
import org.junit.jupiter.api.Test;
import scala.Option;
import scala.collection.mutable.ArrayBuffer;

/** What commits did to the files of a Delta table. */
class LogChangesTest {
  private static final String ROOT = "s3a://b/t";
  private static final byte[] SECRET = {1, 2, 3};

  /** A file of the log, whose other fields differ between versions of Delta. */
  private static AddFile file(String path, long size) throws Exception {
    var constructor = AddFile.class.getConstructors()[0];
    Object[] fields = new Object[constructor.getParameterCount()];
    var nothing = scala.collection.immutable.Map$.MODULE$.empty();
    Object[] first = {path, nothing, size, 0L, true, null, null, null};
    for (int i = 0; i < fields.length; i++) fields[i] = i < 8 ? first[i] : Option.empty();
    return (AddFile) constructor.newInstance(fields);
  }

  private static RemoveFile removal(String path) throws Exception {
    return file(path, 0).removeWithTimestamp(0L, true);
  }

  private static LogChanges none() {
    return new LogChanges(ROOT, new FileStatus());
  }

  private static Set<String> paths(Iterable<AddFile> files) {
    Set<String> paths = new HashSet<>();
    for (AddFile file : files) paths.add(file.path());
    return paths;
  }

  /** The files after any actions are those that a map has after the same actions. */
  @Test
  void lastActionsCount() throws Exception {
    Random drawn = new Random(3);
    for (int run = 0; run < 50; run++) {
      LogChanges changes = none();
      Map<String, Boolean> there = new HashMap<>();
      for (int i = drawn.nextInt(12); i >= 0; i--) {
        String path = "p=1/f" + drawn.nextInt(5) + ".parquet";
        boolean added = drawn.nextBoolean();
        assertTrue(changes.apply(added ? file(path, 1) : removal(path)));
        there.put(path, added);
      }

      Set<String> expected = new HashSet<>(there.keySet());
      expected.removeIf(path -> !there.get(path));
      assertEquals(expected, paths(changes.added()));
      for (int i = 0; i < 5; i++) {
        String path = "p=1/f" + i + ".parquet";
        assertEquals(there.containsKey(path), changes.names(file(path, 9)));
      }
    }
  }

  /** The digests of all files that are named, also of those that are gone, are in the catalogue. */
  @Test
  void digestsOfNamedFiles() throws Exception {
    LogChanges changes = none();
    changes.apply(file("a.parquet", 1));
    changes.apply(removal("b%20c.parquet"));

    CatalogueFiles named = changes.named(SECRET);

    assertEquals(2, named.known());
    for (String path : List.of("s3://b/t/a.parquet", "s3://b/t/b c.parquet")) {
      byte[] digest = PathSet.digest(SECRET, path);
      assertTrue(named.ordinal(PathSet.word(digest, 0), PathSet.word(digest, 8)) >= 0, path);
    }
  }

  /** A path that is not relative, and an action that is not known, cannot be applied. */
  @Test
  void whatCannotBeApplied() throws Exception {
    assertFalse(none().apply(file("/elsewhere/a.parquet", 1)));
    assertFalse(none().apply(file("s3://b/t/a.parquet", 1)));
    assertFalse(none().apply(removal("s3://b/t/a.parquet")));
    assertFalse(none().apply(null));
  }

  private static FileStatus logged(String name, long bytes) {
    return new FileStatus(bytes, false, 1, 1, 0, new Path("/t/_delta_log/" + name));
  }

  private static List<Long> sizes(List<FileStatus> listed, long first, long last) {
    var files = new ArrayBuffer<FileStatus>();
    for (FileStatus file : listed) files.$plus$eq(file);
    var commits = LogChanges.commits(files.iterator(), first, last);
    return commits.stream().map(FileStatus::getLen).toList();
  }

  /** The commits of the versions that are wanted are picked, among all else that the log holds. */
  @Test
  void commitsOfVersions() {
    List<FileStatus> listed = new ArrayList<>();
    for (long version = 7; version < 13; version++) {
      String name = "%020d".formatted(version);
      listed.add(logged(name + ".checkpoint.parquet", 1000));
      listed.add(logged(name + ".crc", 2000));
      listed.add(logged(name + ".json", version));
    }

    assertEquals(List.of(8L, 9L, 10L), sizes(listed, 8, 10));
    assertEquals(List.of(12L), sizes(listed, 12, 12));
    assertEquals(List.of(), sizes(listed, 11, 13));
    assertEquals(List.of(), sizes(listed, 6, 8));
    listed.removeIf(file -> file.getLen() == 9);
    assertEquals(List.of(), sizes(listed, 8, 10));
    assertEquals(List.of(), sizes(List.of(), 0, 0));
  }

  /** Commits of more than 32 MB together are not read; the first one, which is not read, may be. */
  @Test
  void largeCommits() {
    long most = 32L << 20;
    List<FileStatus> listed = new ArrayList<>();
    listed.add(logged("%020d.json".formatted(0), 10 * most));
    listed.add(logged("%020d.json".formatted(1), most));
    listed.add(logged("%020d.json".formatted(2), 1));

    assertEquals(List.of(10 * most, most), sizes(listed, 0, 1));
    assertEquals(List.of(), sizes(listed, 0, 2));
    assertEquals(List.of(most, 1L), sizes(listed, 1, 2));
  }
}
