package lakesieve.deletes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collections;
import java.util.List;
import org.apache.iceberg.PartitionSpec;
import org.junit.jupiter.api.Test;

/** Data files of one kind of deletes. */
class KindFilesTest {
  private static final int KIND = 3;

  private static AffectedFile affected(String path) {
    BitSet kinds = new BitSet();
    kinds.set(KIND);
    kinds.set(KIND + 1);
    return new AffectedFile(
        new FileConstants(0, 0, 1L),
        DeleteFilesForTests.data(PartitionSpec.unpartitioned(), null, path),
        List.of(),
        null,
        kinds);
  }

  /** Paths come in parts until an empty text. */
  @Test
  void listsPathsInParts() {
    List<AffectedFile> files = new ArrayList<>(Collections.nCopies(10_000, affected("a")));
    files.add(affected("b"));
    KindFiles listed = new KindFiles(KIND, files);

    assertEquals(10_000, listed.paths().lines().count());
    assertEquals("b", listed.paths());
    assertEquals("", listed.paths());
  }

  /** A path with a line break cannot be listed. */
  @Test
  void refusesALineBreak() {
    KindFiles listed = new KindFiles(KIND, List.of(affected("a\nb")));

    assertThrows(IllegalArgumentException.class, listed::paths);
  }

  /** A file without a key of these deletes may still be reached by other kinds. */
  @Test
  void excludesFilesFromItsKindAlone() {
    List<AffectedFile> files = List.of(affected("a"), affected("b"), affected("c"));

    new KindFiles(KIND, files).narrow(new byte[] {0b101});

    assertEquals(List.of(1, 2, 1), files.stream().map(f -> f.kinds().cardinality()).toList());
    assertEquals(KIND + 1, files.get(0).kinds().nextSetBit(0));
  }
}
