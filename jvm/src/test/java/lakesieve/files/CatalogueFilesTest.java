package lakesieve.files;

import static lakesieve.files.DrawnFiles.catalogue;
import static lakesieve.files.DrawnFiles.digests;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** The files of one catalogue. */
class CatalogueFilesTest {
  private static final List<String> PATHS =
      IntStream.range(0, 500).mapToObj(at -> "s3://b/t/" + at + ".parquet").toList();

  private static long[] words(String path) {
    byte[] digest = PathSet.digest(DrawnFiles.SECRET, path);
    return new long[] {PathSet.word(digest, 0), PathSet.word(digest, 8)};
  }

  /** Each file has the ordinal of its place, and other files have none. */
  @Test
  void knowsOrdinals() {
    CatalogueFiles files = catalogue(PATHS);
    long[] other = words("s3://b/t/other.parquet");

    for (int at = 0; at < PATHS.size(); at++) {
      long[] words = words(PATHS.get(at));
      assertEquals(at, files.ordinal(words[0], words[1]));
    }
    assertEquals(-1, files.ordinal(other[0], other[1]));
    assertEquals(PATHS.size(), files.known());
  }

  /** A file of another catalogue is found by its ordinal there. */
  @Test
  void findsFilesOfAnotherCatalogue() {
    CatalogueFiles files = catalogue(PATHS.subList(100, 200));
    CatalogueFiles all = catalogue(PATHS);

    assertEquals(7, files.ordinal(all, 107));
    assertEquals(107, all.ordinal(files, 7));
    assertEquals(-1, files.ordinal(all, 99));
  }

  /** Of two files with one digest, the first one counts. */
  @Test
  void keepsTheFirstOfEqualDigests() {
    CatalogueFiles files = catalogue(Collections.nCopies(3, PATHS.get(0)));
    long[] words = words(PATHS.get(0));

    assertEquals(0, files.ordinal(words[0], words[1]));
  }

  /** More files than announced, or half a digest, are refused. */
  @Test
  void refusesWhatDoesNotFit() {
    CatalogueFiles files = new CatalogueFiles(1);
    byte[] two = digests(PATHS.subList(0, 2));

    assertThrows(IllegalArgumentException.class, () -> files.add(two));
    assertThrows(IllegalArgumentException.class, () -> files.add(new byte[15]));
    assertEquals(0, files.known());
  }
}
