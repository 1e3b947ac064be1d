package lakesieve;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.FileStatus;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetScan;

/**
 * Reads of Parquet directories, by path or as catalog tables: their file index is wrapped by one that
 * leaves files out. A file is known by its path, size and modification time.
 */
public final class ParquetScans extends ScanAdapter {
  @Override
  public Object scan(LogicalPlan leaf) {
    return FileScans.isParquet(leaf) || isOfConnector(leaf) ? leaf : null;
  }

  @Override
  public String refusal(LogicalPlan leaf) {
    if (isOfConnector(leaf)) return "spark.sql.sources.useV1SourceList leaves out parquet";
    if (FileScans.location(leaf) == null) return "several paths in one read";
    scala.collection.Iterator options = FileScans.relation(leaf).options().keysIterator();
    while (options.hasNext()) {
      String option = String.valueOf(options.next());
      if (option.toLowerCase().endsWith("rebasemode")) return "read with the option " + option;
    }
    // such columns are bound by the ids in the files, others by name
    if (FileScans.relation(leaf).schema().json().contains("parquet.field.id")) {
      return "schema with field ids";
    }
    return null;
  }

  @Override
  public Map<String, Object> describe(LogicalPlan leaf) throws Exception {
    if (isOfConnector(leaf)) {
      Map<String, Object> named = new LinkedHashMap<>();
      named.put("table", ((DataSourceV2ScanRelation) leaf).relation().table().name());
      return named;
    }
    String location = FileScans.location(leaf);
    scala.Option table = ((LogicalRelation) leaf).catalogTable();
    Map<String, Object> m = new LinkedHashMap<>();
    m.put("format", "parquet");
    m.put("table", table.isDefined() ? FileScans.name(table.get()) : String.valueOf(location));
    m.put("location", location);
    m.put("uuid", location == null ? null : FileScans.uuid(location));
    m.put("snapshot", null);
    m.put("schema", FileScans.schema(leaf));
    return m;
  }

  @Override
  public int fileCount(LogicalPlan leaf) {
    FileIndex index = index(leaf);
    if (index instanceof KeptFileIndex) return ((KeptFileIndex) index).kept();
    if (isOfConnector(leaf)) return index.inputFiles().length;
    int count = 0;
    for (scala.collection.Iterator it = FileScans.files(index); it.hasNext(); it.next()) count++;
    return count;
  }

  @Override
  public int fileCount(LogicalPlan leaf, List<Expression> conditions) {
    if (isOfConnector(leaf) || FileScans.relation(leaf).partitionSchema().isEmpty()) {
      return fileCount(leaf);
    }
    return PartitionFiles.of(index(leaf), leaf, conditions).size();
  }

  @Override
  public int prune(
      LogicalPlan leaf,
      List<Expression> conditions,
      KeepSet keep,
      Map<LogicalPlan, LogicalPlan> replaced) {
    PathSet skipped = new PathSet();
    PathSet current = null;
    int kept = 0;
    int uncovered = 0;
    for (FileStatus file : PartitionFiles.of(index(leaf), leaf, conditions)) {
      String identity = FileScans.identity(file);
      String path = FilePaths.normal(identity);
      if (!keep.keeps(path)) {
        // a list made some time ago may name a file that was rewritten since
        if (current == null) current = FileScans.currentIdentities(FileScans.relation(leaf));
        if (current.contains(identity)) {
          skipped.add(identity);
          continue;
        }
      }
      if (!keep.covers(path) || !keep.keeps(path)) uncovered++;
      kept++;
    }
    if (skipped.size() > 0) {
      replaced.put(leaf, FileRelations.with(leaf, new KeptFileIndex(index(leaf), skipped, kept)));
    }
    return uncovered;
  }

  @Override
  public void readRaw(
      LogicalPlan leaf, int stride, PathSet files, Map<LogicalPlan, LogicalPlan> replaced) {
    PathSet skipped = new PathSet();
    int kept = 0;
    int selected = 0;
    scala.collection.Iterator it = FileScans.files(index(leaf));
    while (it.hasNext()) {
      String identity = FileScans.identity((FileStatus) it.next());
      boolean wanted = files == null || files.contains(FilePaths.normal(identity));
      if (wanted && selected++ % stride == 0) kept++;
      else skipped.add(identity);
    }
    FileIndex subset = new KeptFileIndex(index(leaf), skipped, kept);
    replaced.put(leaf, FileRelations.strict(FileRelations.with(leaf, subset)));
  }

  @Override
  public String option(LogicalPlan leaf, String name) {
    return isOfConnector(leaf) ? null : super.option(leaf, name);
  }

  /** True for a leaf that reads Parquet through Spark's connector API, which is left as it is. */
  private static boolean isOfConnector(LogicalPlan leaf) {
    return leaf instanceof DataSourceV2ScanRelation
        && ((DataSourceV2ScanRelation) leaf).scan() instanceof ParquetScan;
  }

  private static FileIndex index(LogicalPlan leaf) {
    if (isOfConnector(leaf)) {
      return ((ParquetScan) ((DataSourceV2ScanRelation) leaf).scan()).fileIndex();
    }
    return FileScans.relation(leaf).location();
  }
}
