package lakesieve.files;

import static lakesieve.files.DrawnFiles.SECRET;
import static lakesieve.files.DrawnFiles.sample;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Which files a scan keeps, beside a slow twin over drawn answers of drawn indexes. */
class KeepSetTest {
  private static final List<String> PATHS =
      IntStream.range(0, 12).mapToObj(at -> "s3://b/ä b%/" + at + "\u2028.parquet").toList();

  private static final int ROWS = 60;

  private final Random drawn = new Random(4);

  /** Answers as JSON, and the rows that they keep of a file that some index covers. */
  private record Drawn(Map<String, Object> tree, Function<String, BitSet> rows) {}

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

  private static BitSet rows(int from, int to) {
    BitSet rows = new BitSet();
    rows.set(from, to);
    return rows;
  }

  private static BitSet all() {
    return rows(0, ROWS);
  }

  private static String base64(List<? extends Number> numbers, int size) {
    ByteBuffer bytes = ByteBuffer.allocate(size * numbers.size()).order(ByteOrder.LITTLE_ENDIAN);
    for (Number number : numbers) {
      if (size == Long.BYTES) bytes.putLong(number.longValue());
      else bytes.putInt(number.intValue());
    }
    return Base64.getEncoder().encodeToString(bytes.array());
  }

  /** Draw the rows of the files with a bit, and add them to an answer as JSON. */
  private Map<Integer, BitSet> drawRows(BitSet kept, int files, Map<String, Object> answer) {
    Map<Integer, BitSet> drawnRows = new HashMap<>();
    List<Integer> counts = new ArrayList<>();
    List<Long> ranges = new ArrayList<>();
    for (int at = kept.nextSetBit(0); at >= 0 && at < files; at = kept.nextSetBit(at + 1)) {
      int count = drawn.nextInt(4);
      counts.add(count);
      BitSet rows = count == 0 ? all() : new BitSet();
      int from = 0;
      for (int range = 0; range < count; range++) {
        from += drawn.nextInt(3);
        int to = from + 1 + drawn.nextInt(ROWS / 8);
        boolean isLast = range == count - 1 && drawn.nextBoolean();
        ranges.add((long) from);
        ranges.add(isLast ? Long.MAX_VALUE : to);
        rows.set(from, isLast ? ROWS : to);
        from = to;
      }
      drawnRows.put(at, rows);
    }
    answer.put("counts", base64(counts, Integer.BYTES));
    answer.put("rows", base64(ranges, Long.BYTES));
    return drawnRows;
  }

  private Drawn drawAnswers(List<List<List<String>>> indexes, int depth, boolean withRows) {
    double kind = drawn.nextDouble();
    if (depth > 0 && kind < 0.6) {
      boolean isAnd = drawn.nextBoolean();
      List<Drawn> args = new ArrayList<>();
      for (int left = drawn.nextInt(4); left > 0; left--) {
        args.add(drawAnswers(indexes, depth - 1, withRows));
      }
      Function<String, BitSet> rows =
          path -> {
            BitSet combined = isAnd ? all() : new BitSet();
            for (Drawn arg : args) {
              if (isAnd) combined.and(arg.rows().apply(path));
              else combined.or(arg.rows().apply(path));
            }
            return combined;
          };
      List<Map<String, Object>> trees = args.stream().map(Drawn::tree).toList();
      return new Drawn(Map.of("op", isAnd ? "and" : "or", "args", trees), rows);
    }
    if (kind < 0.65) return new Drawn(Map.of("op", "none"), path -> new BitSet());
    int index = drawn.nextInt(indexes.size());
    List<String> covered = indexes.get(index).stream().flatMap(List::stream).toList();
    byte[] bitmap = new byte[covered.size() / 8 + 1];
    drawn.nextBytes(bitmap);
    BitSet bits = BitSet.valueOf(bitmap);
    Map<String, Object> answer = new HashMap<>();
    answer.put("index", index);
    answer.put("keep", Base64.getEncoder().encodeToString(bitmap));
    Map<Integer, BitSet> some = withRows ? drawRows(bits, covered.size(), answer) : Map.of();
    return new Drawn(
        answer,
        path -> {
          if (!covered.contains(path)) return all();
          BitSet rows = new BitSet();
          // a file may be in several catalogues of an index
          for (int at = 0; at < covered.size(); at++) {
            if (covered.get(at).equals(path) && bits.get(at)) rows.or(some.getOrDefault(at, all()));
          }
          return rows;
        });
  }

  private static BitSet rowsOf(long[] ranges) {
    if (ranges == null) return all();
    BitSet rows = new BitSet();
    for (int at = 0; at < ranges.length; at += 2) {
      rows.set((int) ranges[at], (int) Math.min(ROWS, ranges[at + 1]));
    }
    return rows;
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
      boolean withRows = i % 2 == 0;
      Drawn answers = drawAnswers(indexes, 3, withRows);
      KeepSet keep = keepSet(indexes, answers.tree());
      Predicate<String> covered =
          path -> indexes.stream().flatMap(List::stream).anyMatch(names -> names.contains(path));
      Predicate<String> kept = covered.negate().or(path -> !answers.rows().apply(path).isEmpty());

      for (int at = 0; at < PATHS.size(); at++) {
        String path = PATHS.get(at);
        assertEquals(covered.test(path), keep.covers(path), path);
        assertEquals(kept.test(path), keep.keeps(path), () -> answers.tree().toString());
        if (withRows) assertTrue(keep.mayKeep(alone.get(at)) || !kept.test(path));
        else assertEquals(kept.test(path), keep.mayKeep(alone.get(at)));
        BitSet rows = covered.test(path) ? answers.rows().apply(path) : all();
        assertEquals(rows, rowsOf(keep.rows(path)), () -> answers.tree().toString());
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

  /** Row ranges that do not fit the bitmap, or are out of order, are refused. */
  @Test
  void refusesRowsThatDoNotFit() {
    List<List<List<String>>> indexes = List.of(List.of(PATHS));
    String two = Base64.getEncoder().encodeToString(new byte[] {0b11, 0});
    List<Map<String, Object>> wrong =
        List.of(
            answer(two, List.of(1), List.of(0L, 5L)),
            answer(two, List.of(1, 1, 0), List.of(0L, 5L, 0L, 5L)),
            answer(two, List.of(1, 1), List.of(0L, 5L)),
            answer(two, List.of(1, -1), List.of()),
            answer(two, List.of(0, 2), List.of(5L, 9L, 4L, 10L)),
            answer(two, List.of(0, 1), List.of(5L, 5L)));

    for (Map<String, Object> tree : wrong) {
      assertThrows(IllegalArgumentException.class, () -> keepSet(indexes, tree), tree::toString);
    }
    KeepSet right = keepSet(indexes, answer(two, List.of(0, 1), List.of(5L, 9L)));
    assertNull(right.rows(PATHS.get(0)));
    assertArrayEquals(new long[] {5, 9}, right.rows(PATHS.get(1)));
  }

  private static Map<String, Object> answer(String keep, List<Integer> counts, List<Long> ranges) {
    return Map.of(
        "index",
        0,
        "keep",
        keep,
        "counts",
        base64(counts, Integer.BYTES),
        "rows",
        base64(ranges, Long.BYTES));
  }

  /** Rows and records of a report: those of the files of which only some rows are read. */
  @Test
  void knowsRecords() {
    List<List<List<String>>> indexes = List.of(List.of(PATHS));
    String first = Base64.getEncoder().encodeToString(new byte[] {1, 0});
    Map<String, Object> known =
        new HashMap<>(answer(first, List.of(1), List.of(40L, Long.MAX_VALUE)));
    known.put("records", base64(List.of(50L), Long.BYTES));
    KeepSet keep = keepSet(indexes, known);
    FileRows rows = new FileRows();

    rows.put("s3://b/a", 1, 1, keep.rows(PATHS.get(0)), keep.records(PATHS.get(0)));

    assertEquals(10, rows.count());
    assertEquals(50, rows.records());
    assertEquals(-1, keep.records(PATHS.get(1)));
    rows.put("s3://b/b", 1, 1, new long[] {0, 5}, -1);
    assertEquals(15, rows.count());
    assertEquals(-1, rows.records());
  }

  /** One file of any number, and a twentieth, are few. */
  @Test
  void knowsFew() {
    assertTrue(KeepSet.isFew(1, 1));
    assertTrue(KeepSet.isFew(5, 100));
    assertFalse(KeepSet.isFew(6, 100));
  }
}
