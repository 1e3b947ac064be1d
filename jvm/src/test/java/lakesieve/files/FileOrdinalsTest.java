package lakesieve.files;

import static lakesieve.files.DrawnFiles.catalogue;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The catalogues that are kept for all sessions. */
class FileOrdinalsTest {
  private static final CatalogueFiles FILES =
      catalogue(IntStream.range(0, 50).mapToObj(String::valueOf).toList());
  private static final long SIZE = FILES.bytes();

  /** Keep catalogues of one size under these names, and return the names that are left. */
  private static Set<String> remember(long limit, String... names) {
    for (String name : names) FileOrdinals.remember(Map.of(name, FILES), limit);
    return FileOrdinals.known().keySet();
  }

  @BeforeEach
  void forget() {
    FileOrdinals.remember(Map.of(), 0);
  }

  /** As many catalogues are kept as fit into the limit, which is one of bytes. */
  @Test
  void areBoundedByBytes() {
    assertEquals(Set.of("a", "b", "c"), remember(3 * SIZE, "a", "b", "c"));
    assertEquals(3 * SIZE, FileOrdinals.bytes());

    assertEquals(Set.of("c", "d"), remember(3 * SIZE - 1, "d"));
    assertEquals(2 * SIZE, FileOrdinals.bytes());
    assertEquals(Set.of(), remember(SIZE - 1, "e"));
    assertEquals(0, FileOrdinals.bytes());
  }

  /** The least recently used catalogue goes first, and one that is used again is counted once. */
  @Test
  void dropTheLeastRecentlyUsed() {
    remember(3 * SIZE, "a", "b", "c", "a");

    assertEquals(3 * SIZE, FileOrdinals.bytes());
    assertEquals(Set.of("a", "c", "d"), remember(3 * SIZE, "d"));
  }

  /** A request that is under way keeps the catalogues that it has got. */
  @Test
  void areNotTakenFromARequest() {
    remember(SIZE, "a");
    Map<String, CatalogueFiles> ofRequest = FileOrdinals.known();
    remember(SIZE, "b");

    assertEquals(List.of("a"), List.copyOf(ofRequest.keySet()));
    assertSame(FILES, ofRequest.get("a"));
  }
}
