package lakesieve.deletes;

import static org.apache.iceberg.types.Types.NestedField.required;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.Test;

/** Units of files that are linked by deletes. */
class FileUnitsTest {
  private static final PartitionSpec NONE = PartitionSpec.unpartitioned();
  private static final PartitionSpec BY_DAY =
      PartitionSpec.builderFor(new Schema(required(1, "day", Types.StringType.get())))
          .withSpecId(1)
          .identity("day")
          .build();

  private final FileUnits units = new FileUnits(Map.of(0, NONE, 1, BY_DAY));

  /** Files of a partition are one node; those of another partition or spec are another. */
  @Test
  void groupsFilesByPartition() {
    int monday = units.group(DeleteFilesForTests.data(BY_DAY, "day=mon", "a"));
    int tuesday = units.group(DeleteFilesForTests.data(BY_DAY, "day=tue", "b"));
    int unpartitioned = units.group(DeleteFilesForTests.data(NONE, null, "c"));

    assertEquals(monday, units.group(DeleteFilesForTests.data(BY_DAY, "day=mon", "d")));
    assertEquals(monday, units.group(DeleteFilesForTests.equality(BY_DAY, "day=mon", "e", 1, 1)));
    assertEquals(3, Set.of(monday, tuesday, unpartitioned).size());
  }

  /** Units are counted once they have a number, and other nodes have none. */
  @Test
  void numbersUnitsInOrder() {
    int first = units.newNode();
    int second = units.newNode();
    int third = units.newNode();
    units.link(first, third);

    units.number(second);
    units.number(first);
    units.number(third);

    assertEquals(2, units.count());
    assertEquals(0, units.unit(second));
    assertEquals(1, units.unit(first));
    assertEquals(1, units.unit(third));
    assertEquals(-1, units.unit(units.newNode()));
  }

  /** Two nodes are of one unit exactly when links lead from one to the other. */
  @Test
  void unitsAreConnectedComponents() {
    Random random = new Random(7);
    for (int round = 0; round < 50; round++) {
      FileUnits drawn = new FileUnits(Map.of(0, NONE));
      int nodes = round == 0 ? 3000 : 1 + random.nextInt(60);
      List<List<Integer>> links = new ArrayList<>();
      for (int node = 0; node < nodes; node++) {
        assertEquals(node, drawn.newNode());
        links.add(new ArrayList<>());
      }
      for (int link = random.nextInt(nodes + 1); link > 0; link--) {
        int first = random.nextInt(nodes);
        int second = random.nextInt(nodes);
        drawn.link(first, second);
        links.get(first).add(second);
        links.get(second).add(first);
      }
      for (int node = 0; node < nodes; node++) drawn.number(node);

      Set<Integer> seen = new HashSet<>();
      for (int start = 0; start < nodes; start++) {
        if (seen.contains(start)) continue;
        // a unit that was not met yet, as components are walked in the order of the numbers
        int unit = drawn.unit(start);
        assertNotEquals(-1, unit);
        Set<Integer> component = reached(start, links);
        for (int node : component) assertEquals(unit, drawn.unit(node));
        seen.addAll(component);
      }
      assertEquals(components(links), drawn.count());
    }
  }

  private static int components(List<List<Integer>> links) {
    Set<Integer> seen = new HashSet<>();
    int count = 0;
    for (int node = 0; node < links.size(); node++) {
      if (seen.contains(node)) continue;
      seen.addAll(reached(node, links));
      count++;
    }
    return count;
  }

  private static Set<Integer> reached(int start, List<List<Integer>> links) {
    Set<Integer> reached = new HashSet<>(Set.of(start));
    List<Integer> waiting = new ArrayList<>(reached);
    while (!waiting.isEmpty()) {
      for (int next : links.get(waiting.remove(waiting.size() - 1))) {
        if (reached.add(next)) waiting.add(next);
      }
    }
    return reached;
  }
}
