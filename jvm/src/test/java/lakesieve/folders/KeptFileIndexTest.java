package lakesieve.folders;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import java.lang.reflect.Proxy;
import java.util.List;
import lakesieve.files.PathSet;
import lakesieve.spark.Scala;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.junit.jupiter.api.Test;

/** An index in front of another one, which leaves files out. */
class KeptFileIndexTest {
  private static final FileStatus FIRST = file("file:/t/p=1/a", 1);
  private static final FileStatus SECOND = file("file:/t/p=2/b", 1);
  private static final FileStatus REWRITTEN = file("file:/t/p=2/b", 2);

  private static FileStatus file(String path, long modified) {
    return new FileStatus(10, false, 1, 10, modified, new Path(path));
  }

  /** An index with a directory for each file; a stub, as only these methods are called. */
  private static FileIndex index(FileStatus... files) {
    List<PartitionDirectory> directories =
        List.of(files).stream().map(KeptFileIndexTest::directory).toList();
    return (FileIndex)
        Proxy.newProxyInstance(
            FileIndex.class.getClassLoader(),
            new Class<?>[] {FileIndex.class},
            (proxy, method, arguments) ->
                switch (method.getName()) {
                  case "listFiles" -> Scala.seq(directories);
                  case "rootPaths" -> Scala.seq(List.of(new Path("file:/t")));
                  case "sizeInBytes" -> 10L * files.length;
                  case "equals" -> proxy == arguments[0];
                  case "hashCode" -> System.identityHashCode(proxy);
                  case "toString" -> "stub";
                  default -> throw new UnsupportedOperationException(method.getName());
                });
  }

  private static PartitionDirectory directory(FileStatus file) {
    var files =
        List.of(new FileStatusWithMetadata(file, scala.collection.immutable.Map$.MODULE$.empty()));
    return new PartitionDirectory(InternalRow.empty(), Scala.seq(files));
  }

  private static PathSet identities(FileStatus... files) {
    PathSet set = new PathSet();
    for (FileStatus file : files) set.add(FolderFiles.identity(file));
    return set;
  }

  private static List<FileStatus> read(FileIndex index) {
    List<Expression> none = List.of();
    return Scala.list(index.listFiles(Scala.seq(none), Scala.seq(none))).stream()
        .flatMap(directory -> Scala.list(directory.files()).stream())
        .map(FileStatusWithMetadata::fileStatus)
        .toList();
  }

  /** The files that are named are left out; a file that was rewritten since is another file. */
  @Test
  void leavesOutWhatIsNamed() {
    PathSet skipped = identities(SECOND);

    FileIndex kept = new KeptFileIndex(index(FIRST, SECOND), skipped, 1);
    assertEquals(List.of(FIRST), read(kept));
    assertEquals(20, kept.sizeInBytes());
    assertEquals("file:/t", kept.rootPaths().apply(0).toString());
    FileIndex later = new KeptFileIndex(index(FIRST, REWRITTEN), skipped, 1);
    assertEquals(List.of(FIRST, REWRITTEN), read(later));
  }

  /** Indexes that leave the same files out of one index are equal, and no others are. */
  @Test
  void equalsWhatReadsTheSame() {
    FileIndex all = index(FIRST, SECOND);
    FileIndex one = new KeptFileIndex(all, identities(FIRST), 1);

    assertEquals(one, new KeptFileIndex(all, identities(FIRST), 1));
    assertEquals(one.hashCode(), new KeptFileIndex(all, identities(FIRST), 1).hashCode());
    assertNotEquals(one, new KeptFileIndex(all, identities(SECOND), 1));
    assertNotEquals(one, new KeptFileIndex(index(FIRST, SECOND), identities(FIRST), 1));
    assertEquals("KeptFileIndex(1 files of stub)", one.toString());
  }
}
