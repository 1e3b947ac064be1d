package lakesieve.files;

import static lakesieve.files.DrawnFiles.SECRET;
import static lakesieve.files.DrawnFiles.catalogue;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.BitSet;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Groups of files. */
class FileGroupTest {
  private static final List<String> PATHS = List.of("file:/a", "file:/b", "file:/c");

  /** Catalogues that together have every file cover a group. */
  @Test
  void isCoveredByCatalogues() {
    FileGroup group = FileGroup.of(PATHS.iterator(), SECRET);
    CatalogueFiles[] some = {catalogue(PATHS.subList(0, 2)), catalogue(PATHS.subList(1, 2))};
    CatalogueFiles[] all = {some[0], some[1], catalogue(PATHS.subList(2, 3))};

    assertFalse(group.isCovered(some));
    assertTrue(group.isCovered(all));
    assertEquals(3, group.files());
  }

  /** A group whose digests a catalogue holds still finds its files in other catalogues. */
  @Test
  void givesItsDigestsToACatalogue() {
    FileGroup group = FileGroup.of(PATHS.iterator(), SECRET);
    CatalogueFiles[] holder = {catalogue(PATHS)};
    assertTrue(group.isCovered(holder));

    assertTrue(group.hasAny(catalogue(PATHS.subList(1, 2))));
    assertFalse(group.hasAny(catalogue(List.of("file:/d"))));
    assertTrue(group.holds(holder, new byte[] {0b100}));
    assertFalse(group.holds(holder, new byte[] {0}));
  }

  /** Each file is marked once, in the first catalogue that has it. */
  @Test
  void marksEachFileOnce() {
    FileGroup group = FileGroup.of(PATHS.iterator(), SECRET);
    CatalogueFiles[] catalogues = {
      catalogue(List.of("file:/d", "file:/b")), catalogue(List.of("file:/b", "file:/c"))
    };
    BitSet[] marks = {new BitSet(), new BitSet()};

    assertEquals(2, group.mark(catalogues, marks));
    assertEquals("{1}", marks[0].toString());
    assertEquals("{1}", marks[1].toString());
  }
}
