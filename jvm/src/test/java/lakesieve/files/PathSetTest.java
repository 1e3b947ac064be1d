package lakesieve.files;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Sets of paths. */
class PathSetTest {
  private static final List<String> PATHS =
      IntStream.range(0, 1000).mapToObj(at -> "file:/t/" + at + ".parquet").toList();

  private static PathSet setOf(List<String> paths) {
    PathSet set = new PathSet();
    paths.forEach(set::add);
    return set;
  }

  /** It holds exactly what was added, as often as that was. */
  @Test
  void holdsWhatWasAdded() {
    Random drawn = new Random(2);
    PathSet set = new PathSet();
    Set<String> twin = new HashSet<>();
    for (int i = 0; i < 1000; i++) {
      String path = PATHS.get(drawn.nextInt(PATHS.size()));
      set.add(path);
      twin.add(path);
    }

    assertEquals(twin.size(), set.size());
    for (String path : PATHS) assertEquals(twin.contains(path), set.contains(path), path);
  }

  /** Sets of the same paths are equal in whatever order they came, and no others are. */
  @Test
  void equalsSetsOfTheSamePaths() {
    PathSet set = setOf(PATHS);
    PathSet same = setOf(DrawnFiles.sample(new Random(3), PATHS, PATHS.size()));
    PathSet less = setOf(PATHS.subList(1, PATHS.size()));

    assertEquals(set, same);
    assertEquals(set.hashCode(), same.hashCode());
    assertEquals(set.mark(), same.mark());
    assertNotEquals(set, less);
    assertFalse(less.contains(PATHS.get(0)));
    assertNotEquals(set, (Object) "no set");
  }

  /** A union holds the paths of both sets. */
  @Test
  void addsAnotherSet() {
    PathSet union = setOf(PATHS.subList(0, 600));
    union.addAll(setOf(PATHS.subList(400, 1000)));

    assertEquals(setOf(PATHS), union);
    assertEquals(PATHS.size(), union.size());
  }

  /** A word of a digest has its lowest byte first. */
  @Test
  void readsWordsFromTheLowestByte() {
    byte[] data = {9, 1, 0, 0, 0, 0, 0, 0, (byte) 0x80};

    assertEquals(0x8000_0000_0000_0001L, PathSet.word(data, 1));
    assertTrue(PathSet.digest(DrawnFiles.SECRET, "ä").length >= 16);
  }
}
