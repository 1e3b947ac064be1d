package lakesieve.deletes;

import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.iceberg.ContentFile;
import org.apache.iceberg.util.PartitionMap;

/**
 * Units of files that deletes link with each other: what one of them needs is in no other.
 *
 * <p>Data files of one partition are one node, each equality delete file is another; linked nodes are
 * one unit (union and find). A unit has a number once a data file of it is to be read.
 */
public final class FileUnits {
  private final PartitionMap groups;
  private final Map<Integer, Integer> numbers = new LinkedHashMap<Integer, Integer>(); // by root
  private int[] links = new int[1024];
  private int nodes = 0;

  public FileUnits(Map specs) {
    this.groups = PartitionMap.create(specs);
  }

  /** The node of all data files of a file's partition. */
  public int group(ContentFile file) {
    Integer known = (Integer) groups.get(file.specId(), file.partition());
    if (known != null) return known.intValue();
    int node = newNode();
    groups.put(file.specId(), file.partition(), Integer.valueOf(node));
    return node;
  }

  public int newNode() {
    if (nodes == links.length) {
      int[] more = new int[2 * nodes];
      System.arraycopy(links, 0, more, 0, nodes);
      links = more;
    }
    links[nodes] = nodes;
    return nodes++;
  }

  public void link(int a, int b) {
    links[root(a)] = root(b);
  }

  /** Give the unit of a node a number, unless it has one. */
  public void number(int node) {
    Integer root = Integer.valueOf(root(node));
    if (!numbers.containsKey(root)) numbers.put(root, Integer.valueOf(numbers.size()));
  }

  /** How many units have a number. */
  public int count() {
    return numbers.size();
  }

  /** The number of a node's unit, -1 without one. */
  public int unit(int node) {
    Integer number = (Integer) numbers.get(Integer.valueOf(root(node)));
    return number == null ? -1 : number.intValue();
  }

  private int root(int node) {
    while (links[node] != node) {
      links[node] = links[links[node]];
      node = links[node];
    }
    return node;
  }
}
