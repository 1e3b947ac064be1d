package lakesieve.deletes;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.apache.iceberg.ContentFile;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.util.PartitionMap;

/**
 * Units of data files and delete files. No delete file of one unit reaches a data file of another.
 *
 * <p>All data files of a partition are one node. Each equality delete file is a node, too. Linked
 * nodes form a unit, in a disjoint-set forest. A unit gets a number if one of its data files will
 * be read.
 */
final class FileUnits {
  private final PartitionMap<Integer> groups;
  private final Map<Integer, Integer> numbers = new HashMap<>(); // by root node of the unit
  private int[] parents = new int[1024];
  private int nodes = 0;

  /** Create units without files. {@code specs} has the table's partition specs by id. */
  FileUnits(Map<Integer, PartitionSpec> specs) {
    this.groups = PartitionMap.create(specs);
  }

  /** Return the node of all data files in the partition of a file. */
  int group(ContentFile<?> file) {
    Integer known = groups.get(file.specId(), file.partition());
    if (known != null) return known;
    int node = newNode();
    groups.put(file.specId(), file.partition(), node);
    return node;
  }

  /** Add a node in a unit of its own. */
  int newNode() {
    if (nodes == parents.length) parents = Arrays.copyOf(parents, 2 * nodes);
    parents[nodes] = nodes;
    return nodes++;
  }

  /** Join the units of two nodes. The units must not have numbers yet. */
  void link(int first, int second) {
    parents[root(first)] = root(second);
  }

  /** Give the unit of a node a number, unless it has one. */
  void number(int node) {
    numbers.putIfAbsent(root(node), numbers.size());
  }

  /** Return how many units have a number. */
  int count() {
    return numbers.size();
  }

  /** Return the number of a node's unit, or -1 if the unit has no number. */
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
