package lakesieve.files;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** One spelling of each path. The examples are in a file that the Python tests read, too. */
class FilePathsTest {
  /** An example, and what becomes of it. */
  private record Example(String path, String spelled) {}

  private static List<Example> examples(String name) throws IOException {
    try (InputStream file = FilePathsTest.class.getResourceAsStream(name)) {
      String text = new String(file.readAllBytes(), StandardCharsets.UTF_8);
      return text.lines()
          .map(line -> line.split("\t", -1))
          .map(fields -> new Example(fields[0], fields[1]))
          .toList();
    }
  }

  /** Every example is spelled as it should be, and stays the same object from then on. */
  @Test
  void spellsTheExamples() throws IOException {
    List<Example> examples = examples("spellings.tsv");

    assertAll(
        examples.stream()
            .map(e -> () -> assertEquals(e.spelled(), FilePaths.normal(e.path()), e.path())));
    assertAll(
        examples.stream().map(e -> () -> assertSame(e.spelled(), FilePaths.normal(e.spelled()))));
  }

  /** A table's location has no slash at its end, but for the slashes that are its name. */
  @Test
  void spellsLocationsOfTables() throws IOException {
    for (Example example : examples("roots.tsv")) {
      assertEquals(example.spelled(), FilePaths.root(example.path()), example.path());
    }
  }

  /** A spelling has itself for its spelling, whatever the text is. */
  @Test
  void isSpelledOnce() {
    Random drawn = new Random(1);
    String letters = "aAsS3:/. \\%#é";
    List<String> starts = List.of("", "file:", "s3a://", "hdfs://N", "/", "FILE://localhost");
    for (int i = 0; i < 2000; i++) {
      StringBuilder text = new StringBuilder(starts.get(drawn.nextInt(starts.size())));
      for (int left = drawn.nextInt(12); left > 0; left--) {
        text.append(letters.charAt(drawn.nextInt(letters.length())));
      }
      String spelled = FilePaths.normal(text.toString());

      assertNotNull(spelled);
      assertSame(spelled, FilePaths.normal(spelled), text.toString());
    }
  }

  /** A file without a path has no spelling. */
  @Test
  void leavesNullAlone() {
    assertNull(FilePaths.normal(null));
  }
}
