package lakesieve.deletes;

import static lakesieve.deletes.DeleteFilesForTests.equality;
import static org.apache.iceberg.types.Types.NestedField.required;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.Test;

/** Equality delete files by kind. */
class EqualityFilesTest {
  private static final PartitionSpec BY_DAY =
      PartitionSpec.builderFor(new Schema(required(1, "day", Types.StringType.get())))
          .withSpecId(1)
          .identity("day")
          .build();
  private static final Map<Integer, PartitionSpec> SPECS =
      Map.of(0, PartitionSpec.unpartitioned(), 1, BY_DAY);

  private final EqualityFiles files = new EqualityFiles(SPECS, new FileUnits(SPECS));

  /** The order of the equality columns does not matter, the partitioning does. */
  @Test
  void kindsAreColumnsAndPartitioning() {
    int everywhere = files.reaching(equality("a", 1, 1, 2)).kind;

    assertEquals(everywhere, files.reaching(equality("b", 1, 2, 1)).kind);
    assertNotEquals(everywhere, files.reaching(equality("c", 1, 1)).kind);
    assertNotEquals(everywhere, files.reaching(equality(BY_DAY, "day=mon", "d", 1, 1, 2)).kind);
    assertEquals(3, files.kinds().size());
    assertEquals(List.of(1, 2), List.copyOf(files.ids()));
  }

  /** A delete file that reaches several data files counts once. */
  @Test
  void countsAFileOnce() {
    EqualityFiles.Entry first = files.reaching(equality("a", 5, 1));

    assertSame(first, files.reaching(equality("a", 5, 1)));
    EqualityFiles.Kind kind = files.kinds().get(first.kind);
    assertEquals(1, kind.files());
    assertEquals(5, kind.records());
    assertEquals(1, kind.reaching());
    assertEquals(Set.of(1), kind.ids);
  }

  /** Deletes of a partition apply to its group alone, others to all of them. */
  @Test
  void groupsArePartitions() {
    int monday = files.reaching(equality(BY_DAY, "day=mon", "a", 1, 1)).group;
    int tuesday = files.reaching(equality(BY_DAY, "day=tue", "b", 1, 1)).group;

    assertNotEquals(monday, tuesday);
    assertEquals(monday, files.reaching(equality(BY_DAY, "day=mon", "c", 1, 2)).group);
    assertEquals(-1, files.reaching(equality("d", 1, 1)).group);
  }
}
