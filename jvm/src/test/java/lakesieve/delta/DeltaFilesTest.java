package lakesieve.delta;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.URI;
import java.net.URISyntaxException;
import java.util.List;
import java.util.Random;
import lakesieve.files.FilePaths;
import org.apache.hadoop.fs.Path;
import org.junit.jupiter.api.Test;

/** Paths of the Delta log as absolute paths. */
class DeltaFilesTest {
  private static final List<String> PARTS =
      List.of("a", "Z", "0", "-", "_", "=", ".", "/", "//", "./", "..", "%20", "%3D", "ä", "+");
  private static final List<String> ROOTS =
      List.of("s3a://b/t", "s3://b/t/", "file:/lake/t", "/lake/t", "abfss://c@a/t", "hdfs://h:1/t");

  /** Whatever the fast way answers is what Hadoop makes of the path. */
  @Test
  void pathsAreThoseOfHadoop() throws Exception {
    Random drawn = new Random(12);
    int valid = 0;
    for (int i = 0; i < 1000; i++) {
      StringBuilder logged = new StringBuilder();
      for (int n = 1 + drawn.nextInt(5); n > 0; n--) {
        logged.append(PARTS.get(drawn.nextInt(PARTS.size())));
      }
      String root = ROOTS.get(drawn.nextInt(ROOTS.size()));
      String expected;
      try {
        Path path = new Path(new URI(logged.toString()));
        Path whole = path.isAbsolute() ? path : new Path(new Path(root), path);
        expected = FilePaths.normal(whole.toString());
      } catch (IllegalArgumentException | URISyntaxException e) {
        continue; // no path of any file
      }
      valid++;
      assertEquals(expected, DeltaFiles.path(root, logged.toString()), root + " " + logged);
    }
    assertTrue(valid > 500, valid + " paths");
  }

  /** A path is absolute, relative to the root, or percent-encoded. */
  @Test
  void formsOfPaths() throws Exception {
    assertEquals("s3://b/t/p=1/x-0.parquet", DeltaFiles.path("s3a://b/t", "p=1/x-0.parquet"));
    assertEquals("s3://b/t/p=a b/x", DeltaFiles.path("s3a://b/t", "p=a%20b/x"));
    assertEquals("s3://b/t/p=a%20b/x", DeltaFiles.path("s3a://b/t", "p=a%2520b/x"));
    assertEquals("s3://other/x", DeltaFiles.path("s3a://b/t", "s3a://other/x"));
    assertEquals("file:/elsewhere/x", DeltaFiles.path("file:/t", "/elsewhere/x"));
  }
}
