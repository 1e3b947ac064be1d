package lakesieve;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hudi.BaseHoodieTableFileIndex;
import org.apache.hudi.HoodieFileIndex;
import org.apache.hudi.common.model.FileSlice;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import scala.Tuple2;

/**
 * Reads of one version of a Hudi table: the file slices are filtered, and given to another
 * file index. Slices with log files always stay.
 *
 * <p>An index has its slices in private fields; {@link #check} lists them.
 */
public final class HudiScans extends ScanAdapter {
  private static final String FROM_PATH = "hoodie.datasource.read.extract.partition.values.from.path";
  private static final String KEPT = "lakesieve-kept";
  private static final String SKIPPING = "hoodie.enable.data.skipping";
  private static final int FEW = 64;

  // private members of the index and of the file format; HudiFiles uses the last two
  private static final String SLICES = "cachedAllInputFileSlices";
  private static final String PARTITIONS = "cachedAllPartitionPaths";
  private static final String ALL_SLICES = "getAllInputFileSlices";
  private static final String FILE_FORMAT =
      "org.apache.spark.sql.execution.datasources.parquet.HoodieFileGroupReaderBasedFileFormat";
  private static final String TABLE_SCHEMA = "tableSchema";

  private final SliceGroups groups = new SliceGroups();

  @Override
  public void check() throws Exception {
    Class<?> index = BaseHoodieTableFileIndex.class;
    PrivateMembers.requireField(index, SLICES);
    PrivateMembers.requireField(index, PARTITIONS);
    PrivateMembers.requireMethod(index, ALL_SLICES);
    Class<?> format = Class.forName(FILE_FORMAT, false, index.getClassLoader());
    PrivateMembers.requireField(format, TABLE_SCHEMA);
  }

  @Override
  public Object scan(LogicalPlan leaf) {
    HoodieFileIndex index = HudiFiles.index(leaf);
    return index == null || index.options().contains(KEPT) ? null : leaf;
  }

  @Override
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

  @Override
  public Map<String, Object> describe(LogicalPlan leaf) throws Exception {
    String location = HudiFiles.location(leaf);
    scala.Option table = ((LogicalRelation) leaf).catalogTable();
    Map<String, Object> m = new LinkedHashMap<>();
    m.put("format", "hudi");
    m.put("table", table.isDefined() ? FileScans.name(table.get()) : location);
    m.put("location", location);
    m.put("uuid", FileScans.uuid(location));
    m.put("snapshot", null);
    m.put("schema", HudiFiles.schema(leaf));
    return m;
  }

  @Override
  public int fileCount(LogicalPlan leaf) throws Exception {
    return count(HudiFiles.slices(HudiFiles.index(leaf)));
  }

  private static int count(Map<Object, List<FileSlice>> slices) {
    int count = 0;
    for (List<FileSlice> ofPartition : slices.values()) count += ofPartition.size();
    return count;
  }

  /** True when the table has no Hudi index but statistics, which Parquet footers have too. */
  private static boolean footersTell(HoodieFileIndex index) {
    for (String name : index.metaClient().getTableConfig().getMetadataPartitions()) {
      if (!name.equals("files") && !name.endsWith("_stats")) return false;
    }
    return true;
  }

  @Override
  public int prune(
      LogicalPlan leaf,
      List<Expression> conditions,
      KeepSet keep,
      Map<LogicalPlan, LogicalPlan> replaced)
      throws Exception {
    HoodieFileIndex index = HudiFiles.index(leaf);
    Map<Object, List<FileSlice>> all = HudiFiles.slices(index);
    Map<Object, List<FileSlice>> kept = new HashMap<>();
    PathSet chosen = new PathSet();
    int skipped = 0;
    int uncovered = 0;
    for (Map.Entry<Object, List<FileSlice>> partition : all.entrySet()) {
      List<FileSlice> slices = new ArrayList<>();
      List<FileSlice> listed = (List<FileSlice>) partition.getValue();
      for (FileSlice slice : candidates(index, listed, keep)) {
        String identity = FilePaths.normal(HudiFiles.identity(index, slice));
        if (identity != null && !keep.keeps(identity)) continue;
        if (identity == null || !keep.covers(identity)) uncovered++;
        if (identity != null) chosen.add(identity);
        slices.add(slice);
      }
      skipped += listed.size() - slices.size();
      kept.put(partition.getKey(), slices);
    }
    if (skipped > 0) replaced.put(leaf, with(leaf, kept, chosen.mark()));
    return uncovered;
  }

  /** The slices of the groups in which one may be kept. */
  private List<FileSlice> candidates(HoodieFileIndex index, List<FileSlice> listed, KeepSet keep) {
    List<FileSlice> candidates = new ArrayList<>();
    FileGroup[] groups = this.groups.of(index, listed, keep.secret());
    int start = 0;
    for (FileGroup group : groups) {
      int end = start + group.files();
      if (keep.mayKeep(group)) candidates.addAll(listed.subList(start, end));
      start = end;
    }
    return candidates;
  }

  @Override
  public void readRaw(
      LogicalPlan leaf, int stride, PathSet files, Map<LogicalPlan, LogicalPlan> replaced)
      throws Exception {
    Map<Object, List<FileSlice>> raw = new HashMap<>();
    int selected = 0;
    HoodieFileIndex index = HudiFiles.index(leaf);
    Map<Object, List<FileSlice>> all = HudiFiles.slices(index);
    for (Map.Entry<Object, List<FileSlice>> partition : all.entrySet()) {
      List<FileSlice> slices = new ArrayList<>();
      for (FileSlice slice : (List<FileSlice>) partition.getValue()) {
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
   * @param mark distinguishes other choices: Spark runs scans of equal relations once, and two indexes
   *     of one table with the same options are equal
   */
  private static LogicalPlan with(
      LogicalPlan leaf, Map<Object, List<FileSlice>> slices, String mark) {
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
    Class<?> owner = BaseHoodieTableFileIndex.class;
    PrivateMembers.set(index, owner, SLICES, Collections.synchronizedMap(slices));
    // or it would ask the metadata table for them once more
    PrivateMembers.set(index, owner, PARTITIONS, new ArrayList<>(slices.keySet()));
    return FileRelations.with(leaf, index);
  }
}
