package lakesieve.hudi;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import lakesieve.files.FileGroup;
import lakesieve.files.FilePaths;
import lakesieve.files.FileRows;
import lakesieve.files.KeepSet;
import lakesieve.files.PathSet;
import lakesieve.folders.FileRelations;
import lakesieve.folders.FileScans;
import lakesieve.rule.ScanAdapter;
import lakesieve.spark.PrivateMembers;
import lakesieve.spark.Scala;
import org.apache.hudi.BaseHoodieTableFileIndex;
import org.apache.hudi.BaseHoodieTableFileIndex.PartitionPath;
import org.apache.hudi.HoodieFileIndex;
import org.apache.hudi.common.model.FileSlice;
import org.apache.hudi.storage.StoragePathInfo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/**
 * Reads of one version of a Hudi table. The file slices are filtered and given to a new file index.
 * Slices with log files always stay.
 *
 * <p>A file index has its slices in private fields; {@link #check} lists these fields.
 */
public final class HudiScans extends ScanAdapter {
  private static final String FROM_PATH =
      "hoodie.datasource.read.extract.partition.values.from.path";
  private static final String KEPT = "lakesieve-kept";
  private static final String SKIPPING = "hoodie.enable.data.skipping";
  private static final int FEW = 64;

  // private fields of BaseHoodieTableFileIndex
  private static final String SLICES = "cachedAllInputFileSlices";
  private static final String PARTITIONS = "cachedAllPartitionPaths";

  private final SliceGroups groups = new SliceGroups();

  @Override
  public void check() throws Exception {
    Class<?> index = BaseHoodieTableFileIndex.class;
    PrivateMembers.requireField(index, SLICES);
    PrivateMembers.requireField(index, PARTITIONS);
    PrivateMembers.requireMethod(index, HudiFiles.ALL_SLICES);
    Class<?> format = Class.forName(HudiFiles.FILE_FORMAT, false, index.getClassLoader());
    PrivateMembers.requireField(format, HudiFiles.TABLE_SCHEMA);
  }

  @Override
  public Object scan(LogicalPlan leaf) {
    HoodieFileIndex index = HudiFiles.index(leaf);
    return index == null || index.options().contains(KEPT) ? null : leaf;
  }

  @Override
  public String refusal(LogicalPlan leaf) {
    for (String option : Scala.list(FileScans.relation(leaf).options().keys().toSeq())) {
      if (option.toLowerCase(Locale.ROOT).endsWith("rebasemode") || option.equals(FROM_PATH)) {
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
    var table = ((LogicalRelation) leaf).catalogTable();
    Map<String, Object> description = new LinkedHashMap<>();
    description.put("format", "hudi");
    description.put("table", table.isDefined() ? FileScans.name(table.get()) : location);
    description.put("location", location);
    description.put("uuid", FileScans.uuid(location));
    description.put("snapshot", null);
    description.put("schema", HudiFiles.schema(leaf));
    return description;
  }

  @Override
  public int fileCount(LogicalPlan leaf) throws Exception {
    return count(HudiFiles.slices(HudiFiles.index(leaf)));
  }

  private static int count(Map<PartitionPath, List<FileSlice>> slices) {
    return slices.values().stream().mapToInt(List::size).sum();
  }

  /** True if the table's only Hudi index is statistics, which Parquet footers contain as well. */
  private static boolean footersTell(HoodieFileIndex index) {
    return index.metaClient().getTableConfig().getMetadataPartitions().stream()
        .allMatch(name -> name.equals("files") || name.endsWith("_stats"));
  }

  @Override
  public int prune(
      LogicalPlan leaf,
      List<Expression> conditions,
      KeepSet keep,
      Map<LogicalPlan, LogicalPlan> replaced)
      throws Exception {
    HoodieFileIndex index = HudiFiles.index(leaf);
    Map<PartitionPath, List<FileSlice>> kept = new HashMap<>();
    PathSet chosen = new PathSet();
    FileRows rows = new FileRows();
    int skipped = 0;
    int uncovered = 0;
    for (var partition : HudiFiles.slices(index).entrySet()) {
      List<FileSlice> listed = partition.getValue();
      List<FileSlice> slices = new ArrayList<>();
      for (FileSlice slice : candidates(index, listed, keep)) {
        String identity = FilePaths.normal(HudiFiles.identity(index, slice));
        if (identity != null && !keep.keeps(identity)) continue;
        if (identity == null || !keep.covers(identity)) uncovered++;
        long[] ranges = identity == null || slice.hasLogFiles() ? null : keep.rows(identity);
        if (ranges != null) {
          StoragePathInfo base = slice.getBaseFile().get().getPathInfo();
          rows.put(
              identity,
              base.getLength(),
              base.getModificationTime(),
              ranges,
              keep.records(identity));
        }
        if (identity != null) chosen.add(identity + Arrays.toString(ranges));
        slices.add(slice);
      }
      skipped += listed.size() - slices.size();
      kept.put(partition.getKey(), slices);
    }
    if (skipped > 0 || !rows.isEmpty()) {
      LogicalPlan fewer = with(leaf, kept, chosen.mark());
      FileScans.restrict(HudiFiles.index(fewer), rows);
      replaced.put(leaf, fewer);
    }
    return uncovered;
  }

  /** The slices of the groups in which a slice may be kept. */
  private List<FileSlice> candidates(HoodieFileIndex index, List<FileSlice> listed, KeepSet keep) {
    List<FileSlice> candidates = new ArrayList<>();
    int start = 0;
    for (FileGroup group : groups.of(index, listed, keep.secret())) {
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
    HoodieFileIndex index = HudiFiles.index(leaf);
    Map<PartitionPath, List<FileSlice>> raw = new HashMap<>();
    int selected = 0;
    for (var partition : HudiFiles.slices(index).entrySet()) {
      List<FileSlice> slices = new ArrayList<>();
      for (FileSlice slice : partition.getValue()) {
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
   * @param mark distinguishes other choices: Spark runs scans of equal relations once, and two
   *     indexes of one table with the same options are equal
   */
  private static LogicalPlan with(
      LogicalPlan leaf, Map<PartitionPath, List<FileSlice>> slices, String mark) {
    HoodieFileIndex old = HudiFiles.index(leaf);
    var options = old.options().updated(KEPT, mark);
    // looking up a few files in the statistics of all files is slower than reading their footers
    if (count(slices) <= FEW && footersTell(old)) {
      options = options.updated(SKIPPING, "false");
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
    // otherwise it would ask the metadata table for the files once more
    PrivateMembers.set(index, owner, PARTITIONS, new ArrayList<>(slices.keySet()));
    return FileRelations.with(leaf, index);
  }
}
