package lakesieve.files;

import static lakesieve.files.DrawnFiles.SECRET;
import static lakesieve.files.DrawnFiles.sample;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.BitSet;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Which files a scan keeps, beside a slow twin over drawn answers of drawn indexes. */
class KeepSetTest {
  private static final List<String> PATHS =
      IntStream.range(0, 12).mapToObj(at -> "s3://b/ä b%/" + at + "\u2028.parquet").toList();

  private final Random drawn = new Random(4);

  /** Answers as JSON, and what they say of a file that some index covers. */
  private record Drawn(Map<String, Object> tree, Predicate<String> keeps) {}

  /** The paths of the files of each catalogue of each index. */
  private List<List<List<String>>> drawIndexes() {
    List<List<List<String>>> indexes = new ArrayList<>();
    for (int index = drawn.nextInt(3); index >= 0; index--) {
      List<List<String>> catalogues = new ArrayList<>();
      for (int at = drawn.nextInt(2); at >= 0; at--) {
        catalogues.add(sample(drawn, PATHS, drawn.nextInt(8)));
      }
      indexes.add(catalogues);
    }
    return indexes;
  }

  private Drawn drawAnswers(List<List<List<String>>> indexes, int depth) {
    double kind = drawn.nextDouble();
    if (depth > 0 && kind < 0.6) {
      boolean isAnd = drawn.nextBoolean();
      List<Drawn> args = new ArrayList<>();
      for (int left = drawn.nextInt(4); left > 0; left--) {
        args.add(drawAnswers(indexes, depth - 1));
      }
      Predicate<String> keeps =
          isAnd
              ? path -> args.stream().allMatch(arg -> arg.keeps().test(path))
              : path -> args.stream().anyMatch(arg -> arg.keeps().test(path));
      List<Map<String, Object>> trees = args.stream().map(Drawn::tree).toList();
      return new Drawn(Map.of("op", isAnd ? "and" : "or", "args", trees), keeps);
    }
    if (kind < 0.65) return new Drawn(Map.of("op", "none"), path -> false);
    int index = drawn.nextInt(indexes.size());
    List<String> covered = indexes.get(index).stream().flatMap(List::stream).toList();
    byte[] bitmap = new byte[covered.size() / 8 + 1];
    drawn.nextBytes(bitmap);
    BitSet bits = BitSet.valueOf(bitmap);
    Set<String> kept = new HashSet<>();
    bits.stream().filter(at -> at < covered.size()).forEach(at -> kept.add(covered.get(at)));
    String base64 = Base64.getEncoder().encodeToString(bitmap);
    return new Drawn(
        Map.of("index", index, "keep", base64),
        path -> !covered.contains(path) || kept.contains(path));
  }

  private static KeepSet keepSet(List<List<List<String>>> indexes, Map<String, Object> tree) {
    CatalogueFiles[][] catalogues =
        indexes.stream()
            .map(names -> names.stream().map(DrawnFiles::catalogue).toArray(CatalogueFiles[]::new))
            .toArray(CatalogueFiles[][]::new);
    return new KeepSet(catalogues, tree, SECRET, null);
  }

  private static FileGroup group(List<String> paths) {
    return FileGroup.of(paths.iterator(), SECRET);
  }

  /** Uncovered files are kept; of others the answers decide, as their slow twin says. */
  @Test
  void answersAsItsTree() {
    // each file and each group meets all answers, of catalogues that come and go
    List<FileGroup> alone = PATHS.stream().map(path -> group(List.of(path))).toList();
    record Group(List<String> paths, FileGroup files) {}
    List<Group> groups = new ArrayList<>();
    for (int i = 0; i < 300; i++) {
      var indexes = drawIndexes();
      Drawn answers = drawAnswers(indexes, 3);
      KeepSet keep = keepSet(indexes, answers.tree());
      Predicate<String> covered =
          path -> indexes.stream().flatMap(List::stream).anyMatch(names -> names.contains(path));
      Predicate<String> kept = covered.negate().or(answers.keeps());

      for (int at = 0; at < PATHS.size(); at++) {
        String path = PATHS.get(at);
        assertEquals(covered.test(path), keep.covers(path), path);
        assertEquals(kept.test(path), keep.keeps(path), () -> answers.tree().toString());
        assertEquals(kept.test(path), keep.mayKeep(alone.get(at)));
      }
      List<String> some = sample(drawn, PATHS, 1 + drawn.nextInt(PATHS.size()));
      groups.add(new Group(some, group(some)));
      for (Group group : groups.subList(Math.max(0, groups.size() - 5), groups.size())) {
        boolean isNeeded = group.paths().stream().anyMatch(kept);
        // twice: then the group remembers what it has found out
        assertTrue(keep.mayKeep(group.files()) || !isNeeded);
        assertTrue(keep.mayKeep(group.files()) || !isNeeded);
      }
    }
  }

  /** A group none of whose files is kept is skipped, even where two catalogues share it. */
  @Test
  void skipsGroups() {
    List<List<List<String>>> indexes = List.of(List.of(PATHS.subList(0, 6), PATHS.subList(6, 12)));
    byte[] last = {0, 0b1000};
    String bits = Base64.getEncoder().encodeToString(last);
    KeepSet keep = keepSet(indexes, Map.of("index", 0, "keep", bits));

    assertFalse(keep.mayKeep(group(PATHS.subList(0, 11))));
    assertTrue(keep.mayKeep(group(PATHS)));
    assertTrue(keep.mayKeep(group(List.of(PATHS.get(0), "s3://b/unknown"))));
    assertTrue(keep.mayKeep(group(Arrays.asList(PATHS.get(0), null))));
  }

  /** A bitmap that is too short, and an operator that is not known, are refused. */
  @Test
  void refusesWhatItDoesNotUnderstand() {
    List<List<List<String>>> indexes = List.of(List.of(PATHS));
    Map<String, Object> isShort = Map.of("index", 0, "keep", "AA==");
    Map<String, Object> unknown = Map.of("op", "not", "args", List.of(Map.of("op", "none")));

    assertThrows(IllegalArgumentException.class, () -> keepSet(indexes, isShort));
    assertThrows(IllegalArgumentException.class, () -> keepSet(indexes, unknown));
  }

  /** One file of any number, and a twentieth, are few. */
  @Test
  void knowsFew() {
    assertTrue(KeepSet.isFew(1, 1));
    assertTrue(KeepSet.isFew(5, 100));
    assertFalse(KeepSet.isFew(6, 100));
  }
}
