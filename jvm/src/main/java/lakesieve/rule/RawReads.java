package lakesieve.rule;

import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.Map;
import lakesieve.files.PathSet;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** Reads of every row as written, from all files of a table or from a selection of files. */
final class RawReads {
  private final Map<String, PathSet> selections = new HashMap<>();

  /** Add files to a selection. */
  synchronized void select(String name, String[] paths) {
    PathSet files = selections.computeIfAbsent(name, unknown -> new PathSet());
    for (String path : paths) files.add(path);
  }

  /** Forget a selection. */
  synchronized void deselect(String name) {
    selections.remove(name);
  }

  /**
   * Make a scan return every row as written.
   *
   * @param option a stride, and the name of a selection if there is one
   * @param replaced gets what replaces the topmost node of the scan
   */
  void read(FoundScan f, String option, Map<LogicalPlan, LogicalPlan> replaced) throws Exception {
    String[] parts = option.split(" ");
    PathSet files = parts.length > 1 ? selection(parts[1]) : null;
    Map<LogicalPlan, LogicalPlan> leaves = new IdentityHashMap<>();
    f.adapter.readRaw(f.leaf, Integer.parseInt(parts[0]), files, leaves);
    f.replaceLeaf(leaves, null, replaced);
  }

  private synchronized PathSet selection(String name) {
    PathSet files = selections.get(name);
    if (files == null) throw new IllegalStateException("no selection " + name);
    return files;
  }
}
