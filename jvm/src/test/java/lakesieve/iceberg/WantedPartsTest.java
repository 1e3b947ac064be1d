package lakesieve.iceberg;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import lakesieve.files.RowRanges;
import lakesieve.iceberg.WantedParts.RowGroup;
import org.apache.iceberg.BaseFileScanTask;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.PartitionSpecParser;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SchemaParser;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.expressions.ResidualEvaluator;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.Test;

/** The choice of the row groups that have a wanted row. */
class WantedPartsTest {
  private static final String PATH = "file:/t/a.parquet";
  private static final long SIZE = 100;

  private final Random drawn = new Random(5);

  private static FileScanTask task(List<Long> offsets, long rows) {
    Schema schema = new Schema(Types.NestedField.optional(1, "k", Types.LongType.get()));
    DataFile file =
        DataFiles.builder(PartitionSpec.unpartitioned())
            .withPath(PATH)
            .withFormat("parquet")
            .withFileSizeInBytes(SIZE)
            .withRecordCount(rows)
            .withSplitOffsets(offsets)
            .build();
    return new BaseFileScanTask(
        file,
        new DeleteFile[0],
        SchemaParser.toJson(schema),
        PartitionSpecParser.toJson(PartitionSpec.unpartitioned()),
        ResidualEvaluator.unpartitioned(Expressions.alwaysTrue()));
  }

  /** Each row group with a wanted row is read, and no other one. */
  @Test
  void readsRowGroupsWithWantedRows() {
    for (int i = 0; i < 500; i++) {
      List<Long> offsets = new ArrayList<>();
      List<RowGroup> groups = new ArrayList<>();
      List<long[]> bounds = new ArrayList<>();
      long rows = 0;
      for (int at = 0; at < 2 + drawn.nextInt(4); at++) {
        long count = 1 + drawn.nextInt(5);
        offsets.add(4 + 10L * at);
        groups.add(new RowGroup(4 + 10L * at, count));
        bounds.add(new long[] {rows, rows + count});
        rows += count;
      }
      long first = drawn.nextInt((int) rows);
      long end = drawn.nextBoolean() ? Long.MAX_VALUE : first + 1 + drawn.nextInt(4);
      long[] expected = RowRanges.NONE;
      int read = 0;
      for (long[] bound : bounds) {
        if (first >= bound[1] || end <= bound[0]) continue;
        expected = RowRanges.union(expected, bound);
        read++;
      }
      WantedParts wanted = new WantedParts(List.of());

      boolean leavesOut = wanted.add(task(offsets, rows), new long[] {first, end}, groups);

      assertEquals(read < groups.size(), leavesOut);
      assertEquals(leavesOut, !wanted.isEmpty());
      if (leavesOut) assertArrayEquals(expected, wanted.rows().ranges(PATH, SIZE, 0));
    }
  }

  /** All row groups are read where the table's metadata and the footer differ. */
  @Test
  void readsAllWhereOffsetsOrRowsDiffer() {
    long[] first = {0, 1};
    List<RowGroup> groups = List.of(new RowGroup(4, 5), new RowGroup(50, 5));

    assertTrue(new WantedParts(List.of()).add(task(List.of(4L, 50L), 10), first, groups));
    assertFalse(new WantedParts(List.of()).add(task(List.of(4L, 60L), 10), first, groups));
    assertFalse(new WantedParts(List.of()).add(task(List.of(4L, 50L), 11), first, groups));
    assertFalse(new WantedParts(List.of()).add(task(List.of(4L, 50L, 60L), 10), first, groups));
  }

  /** All row groups of a file are read that the table lists twice: other deletes may apply. */
  @Test
  void readsAllOfAFileThatIsListedTwice() {
    FileScanTask task = task(List.of(4L, 50L), 10);
    List<RowGroup> groups = List.of(new RowGroup(4, 5), new RowGroup(50, 5));
    WantedParts once = new WantedParts(List.of(task));
    WantedParts twice = new WantedParts(List.of(task, task));

    assertTrue(once.add(task, new long[] {0, 1}, groups));
    assertFalse(twice.add(task, new long[] {0, 1}, groups));
    assertTrue(twice.isEmpty());
    assertTrue(twice.rows().isEmpty());
  }

  /** One task reads a file with few wanted rows, and each split of a file that is listed twice. */
  @Test
  void readsAFileWithFewWantedRowsAtOnce() {
    FileScanTask task = task(List.of(4L, 50L), 10);
    List<FileScanTask> splits = new ArrayList<>();
    task.split(50).forEach(splits::add);
    WantedParts once = new WantedParts(List.of(task));
    once.addWhole(task);
    WantedParts twice = new WantedParts(List.of(task, task));
    twice.addWhole(task);

    assertEquals(2, splits.size());
    Set<String> read = new HashSet<>();
    assertEquals(List.of(task), once.of(splits.get(1), read));
    assertEquals(List.of(), once.of(splits.get(0), read));
    assertEquals(List.of(splits.get(1)), twice.of(splits.get(1), new HashSet<>()));
  }

  /** A file of one row group, or one without offsets, is not looked at. */
  @Test
  void looksAtFilesOfSeveralRowGroups() {
    assertTrue(WantedParts.areSeveral(task(List.of(4L, 50L), 10)));
    assertFalse(WantedParts.areSeveral(task(List.of(4L), 10)));
    assertFalse(WantedParts.areSeveral(task(null, 10)));
  }
}
