package lakesieve;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hudi.BaseHoodieTableFileIndex;
import org.apache.hudi.HoodieFileIndex;
import org.apache.hudi.common.model.FileSlice;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import scala.Tuple2;

/**
 * Reads of one version of a Hudi table: the file slices are filtered, and stand in a file index of
 * their own. Slices with log files always stay.
 *
 * <p>Private names used: BaseHoodieTableFileIndex.cachedAllInputFileSlices, cachedAllPartitionPaths.
 */
public final class HudiScans implements ScanAdapter {
  private static final String FROM_PATH = "hoodie.datasource.read.extract.partition.values.from.path";
  private static final String KEPT = "lakesieve-kept";
  private static final String SKIPPING = "hoodie.enable.data.skipping";
  private static final int FEW = 64;

  public Object scan(LogicalPlan leaf) {
    HoodieFileIndex index = HudiFiles.index(leaf);
    return index == null || index.options().contains(KEPT) ? null : leaf;
  }

  public boolean inPlace() {
    return false;
  }

  public String refusal(LogicalPlan leaf) {
    scala.collection.Iterator options = FileScans.relation(leaf).options().keysIterator();
    while (options.hasNext()) {
      String option = String.valueOf(options.next());
      if (option.toLowerCase().endsWith("rebasemode") || option.equals(FROM_PATH)) {
        return "read with the option " + option;
      }
    }
    String query = option(leaf, "hoodie.datasource.query.type");
    boolean reads = query == null || query.equals("snapshot") || query.equals("read_optimized");
    return reads ? null : query + " query";
  }

  public Map changedRows(LogicalPlan plan, LogicalPlan leaf) {
    return null;
  }

  public Map describe(LogicalPlan leaf) throws Exception {
    String location = HudiFiles.location(leaf);
    scala.Option table = ((LogicalRelation) leaf).catalogTable();
    Map m = new LinkedHashMap();
    m.put("format", "hudi");
    m.put("table", table.isDefined() ? FileScans.name(table.get()) : location);
    m.put("location", location);
    m.put("uuid", FileScans.uuid(location));
    m.put("snapshot", null);
    m.put("schema", HudiFiles.schema(leaf));
    return m;
  }

  public int fileCount(LogicalPlan leaf) throws Exception {
    return count(HudiFiles.slices(HudiFiles.index(leaf)));
  }

  private static int count(Map slices) {
    int count = 0;
    for (Iterator it = slices.values().iterator(); it.hasNext(); ) count += ((List) it.next()).size();
    return count;
  }

  /** True when the table has no index of Hudi's but statistics, which Parquet footers have too. */
  private static boolean footersTell(HoodieFileIndex index) {
    Iterator it = index.metaClient().getTableConfig().getMetadataPartitions().iterator();
    while (it.hasNext()) {
      String name = (String) it.next();
      if (!name.equals("files") && !name.endsWith("_stats")) return false;
    }
    return true;
  }

  public int prune(LogicalPlan leaf, KeepSet keep, Map replaced) throws Exception {
    HoodieFileIndex index = HudiFiles.index(leaf);
    Map all = HudiFiles.slices(index);
    Map kept = new HashMap();
    PathSet skipped = new PathSet();
    int uncovered = 0;
    for (Iterator it = all.entrySet().iterator(); it.hasNext(); ) {
      Map.Entry partition = (Map.Entry) it.next();
      List slices = new ArrayList();
      for (Iterator in = ((List) partition.getValue()).iterator(); in.hasNext(); ) {
        FileSlice slice = (FileSlice) in.next();
        String identity = FilePaths.normal(HudiFiles.identity(index, slice));
        if (identity != null && !keep.keeps(identity)) {
          skipped.add(identity);
          continue;
        }
        if (identity == null || !keep.covers(identity)) uncovered++;
        slices.add(slice);
      }
      kept.put(partition.getKey(), slices);
    }
    if (skipped.size() > 0) replaced.put(leaf, with(leaf, kept, skipped.mark()));
    return uncovered;
  }

  public boolean isDeferred(LogicalPlan leaf) {
    return false;
  }

  public LogicalPlan restored(LogicalPlan plan, List leaves) {
    return plan;
  }

  public String option(LogicalPlan leaf, String name) {
    scala.Option found = FileScans.relation(leaf).options().get(name);
    return found.isDefined() ? (String) found.get() : null;
  }

  public void readRaw(LogicalPlan leaf, int stride, PathSet files, Map replaced) throws Exception {
    Map raw = new HashMap();
    int selected = 0;
    HoodieFileIndex index = HudiFiles.index(leaf);
    Iterator it = HudiFiles.slices(index).entrySet().iterator();
    while (it.hasNext()) {
      Map.Entry partition = (Map.Entry) it.next();
      List slices = new ArrayList();
      for (Iterator in = ((List) partition.getValue()).iterator(); in.hasNext(); ) {
        FileSlice slice = (FileSlice) in.next();
        String identity = FilePaths.normal(HudiFiles.identity(index, slice));
        if (identity == null || (files != null && !files.contains(identity))) continue;
        if (selected++ % stride == 0) slices.add(slice);
      }
      raw.put(partition.getKey(), slices);
    }
    replaced.put(leaf, FileRelations.strict(with(leaf, raw, "raw")));
  }

  /**
   * The leaf with some of its slices.
   *
   * @param mark tells other choices apart: Spark runs scans of equal relations once, and two indexes
   *     of one table with the same options are equal
   */
  private static LogicalPlan with(LogicalPlan leaf, Map slices, String mark) throws Exception {
    HoodieFileIndex old = HudiFiles.index(leaf);
    scala.collection.immutable.Map options = old.options().$plus(new Tuple2(KEPT, mark));
    // looking some files up in the statistics of all takes longer than reading their footers
    if (count(slices) <= FEW && footersTell(old)) {
      options = options.$plus(new Tuple2(SKIPPING, "false"));
    }
    HoodieFileIndex index =
        old.copy(
            old.spark(),
            old.metaClient(),
            old.schemaSpec(),
            options,
            old.fileStatusCache(),
            old.includeLogFiles(),
            old.shouldEmbedFileSlices());
    set(index, "cachedAllInputFileSlices", Collections.synchronizedMap(slices));
    // or it would ask the metadata table for them once more
    set(index, "cachedAllPartitionPaths", new ArrayList(slices.keySet()));
    return FileRelations.with(leaf, index);
  }

  private static void set(HoodieFileIndex index, String name, Object value) throws Exception {
    Field field = BaseHoodieTableFileIndex.class.getDeclaredField(name);
    field.setAccessible(true);
    field.set(index, value);
  }
}
