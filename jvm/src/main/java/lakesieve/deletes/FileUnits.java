package lakesieve.deletes;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.apache.iceberg.ContentFile;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.util.PartitionMap;

/**
 * Units of files that are linked by deletes: no delete file of one unit reaches a file of another.
 *
 * <p>All data files of a partition are one node, and each equality delete file is another. Linked
 * nodes form a unit (a disjoint-set forest). A unit gets a number when one of its data files is to
 * be read.
 */
final class FileUnits {
  private final PartitionMap<Integer> groups;
  private final Map<Integer, Integer> numbers = new HashMap<>(); // by the root of the unit
  private int[] parents = new int[1024];
  private int nodes = 0;

  /** Make units without any files. The specs are the table's, by id. */
  FileUnits(Map<Integer, PartitionSpec> specs) {
    this.groups = PartitionMap.create(specs);
  }

  /** The node of all data files in the partition of a file. */
  int group(ContentFile<?> file) {
    Integer known = groups.get(file.specId(), file.partition());
    if (known != null) return known;
    int node = newNode();
    groups.put(file.specId(), file.partition(), node);
    return node;
  }

  /** A new node, in a unit of its own. */
  int newNode() {
    if (nodes == parents.length) parents = Arrays.copyOf(parents, 2 * nodes);
    parents[nodes] = nodes;
    return nodes++;
  }

  /** Join the units of two nodes, which must not have numbers yet. */
  void link(int first, int second) {
    parents[root(first)] = root(second);
  }

  /** Give the unit of a node a number, unless it has one. */
  void number(int node) {
    numbers.putIfAbsent(root(node), numbers.size());
  }

  /** How many units have a number. */
  int count() {
    return numbers.size();
  }

  /** The number of a node's unit, or -1 if it has none. */
  int unit(int node) {
    return numbers.getOrDefault(root(node), -1);
  }

  private int root(int node) {
    while (parents[node] != node) {
      parents[node] = parents[parents[node]];
      node = parents[node];
    }
    return node;
  }
}
