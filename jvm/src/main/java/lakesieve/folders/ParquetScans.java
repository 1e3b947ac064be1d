package lakesieve.folders;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import lakesieve.files.FilePaths;
import lakesieve.files.FileRows;
import lakesieve.files.KeepSet;
import lakesieve.files.PathSet;
import lakesieve.rule.ScanAdapter;
import lakesieve.spark.Scala;
import org.apache.hadoop.fs.FileStatus;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetScan;

/**
 * Reads of Parquet directories, by path or as catalog tables. Their file index is wrapped in an
 * index that leaves files out. A file is identified by path, size and modification time.
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
    for (String option : Scala.list(FileScans.relation(leaf).options().keys().toSeq())) {
      if (option.toLowerCase(Locale.ROOT).endsWith("rebasemode")) {
        return "read with the option " + option;
      }
    }
    // such columns are matched by the ids in the files, others by name
    boolean hasIds = FileScans.relation(leaf).schema().json().contains("parquet.field.id");
    return hasIds ? "schema with field ids" : null;
  }

  @Override
  public Map<String, Object> describe(LogicalPlan leaf) throws Exception {
    Map<String, Object> m = new LinkedHashMap<>();
    if (isOfConnector(leaf)) {
      m.put("table", ((DataSourceV2ScanRelation) leaf).relation().table().name());
      return m;
    }
    String location = FileScans.location(leaf);
    var table = ((LogicalRelation) leaf).catalogTable();
    m.put("format", "parquet");
    m.put("table", table.isDefined() ? FileScans.name(table.get()) : String.valueOf(location));
    m.put("location", location);
    m.put("uuid", location == null ? null : FileScans.uuid(location));
    m.put("snapshot", null);
    m.put("schema", SchemaDocument.of(leaf));
    return m;
  }

  @Override
  public int fileCount(LogicalPlan leaf) {
    FileIndex index = index(leaf);
    if (index instanceof KeptFileIndex some) return some.kept();
    return isOfConnector(leaf) ? index.inputFiles().length : FolderFiles.of(index).size();
  }

  @Override
  public int fileCount(LogicalPlan leaf, List<Expression> conditions) {
    if (isOfConnector(leaf) || FileScans.relation(leaf).partitionSchema().isEmpty()) {
      return fileCount(leaf);
    }
    return PartitionFiles.of(index(leaf), leaf, conditions).size();
  }

  @Override
  public List<String> completeFiles(LogicalPlan leaf) {
    List<String> paths = new ArrayList<>();
    if (isOfConnector(leaf) || FileScans.mayDropFiles(FileScans.relation(leaf))) return paths;
    // an older listing may name a file that was rewritten since
    PathSet current = FolderFiles.currentIdentities(FileScans.relation(leaf));
    for (FileStatus file : FolderFiles.of(index(leaf))) {
      String identity = FolderFiles.identity(file);
      if (current.contains(identity)) paths.add(FilePaths.normal(identity));
    }
    return paths;
  }

  @Override
  public int prune(
      LogicalPlan leaf,
      List<Expression> conditions,
      KeepSet keep,
      Map<LogicalPlan, LogicalPlan> replaced) {
    PathSet skipped = new PathSet();
    FileRows rows = new FileRows();
    PathSet current = null;
    int kept = 0;
    int uncovered = 0;
    for (FileStatus file : PartitionFiles.of(index(leaf), leaf, conditions)) {
      String identity = FolderFiles.identity(file);
      String path = FilePaths.normal(identity);
      boolean isKept = keep.keeps(path);
      long[] ranges = isKept ? keep.rows(path) : null;
      if (!isKept || ranges != null) {
        // an older listing may name a file that was rewritten since
        if (current == null) current = FolderFiles.currentIdentities(FileScans.relation(leaf));
        if (current.contains(identity)) {
          if (!isKept) {
            skipped.add(identity);
            continue;
          }
          rows.put(
              file.getPath().toString(),
              file.getLen(),
              file.getModificationTime(),
              ranges,
              keep.records(path));
        }
      }
      if (!isKept || !keep.covers(path)) uncovered++;
      kept++;
    }
    if (skipped.size() > 0 || !rows.isEmpty()) {
      FileIndex fewer = new KeptFileIndex(index(leaf), skipped, kept, rows);
      replaced.put(leaf, FileRelations.with(leaf, fewer));
    }
    return uncovered;
  }

  @Override
  public void readRaw(
      LogicalPlan leaf, int stride, PathSet files, Map<LogicalPlan, LogicalPlan> replaced) {
    PathSet skipped = new PathSet();
    int kept = 0;
    int selected = 0;
    for (FileStatus file : FolderFiles.of(index(leaf))) {
      String identity = FolderFiles.identity(file);
      boolean isSelected = files == null || files.contains(FilePaths.normal(identity));
      if (isSelected && selected++ % stride == 0) {
        kept++;
      } else {
        skipped.add(identity);
      }
    }
    FileIndex subset = new KeptFileIndex(index(leaf), skipped, kept);
    replaced.put(leaf, FileRelations.strict(FileRelations.with(leaf, subset)));
  }

  @Override
  public String option(LogicalPlan leaf, String name) {
    return isOfConnector(leaf) ? null : super.option(leaf, name);
  }

  /**
   * Return true for a leaf that reads Parquet with Spark's connector API, which stays unchanged.
   */
  private static boolean isOfConnector(LogicalPlan leaf) {
    return leaf instanceof DataSourceV2ScanRelation read && read.scan() instanceof ParquetScan;
  }

  private static FileIndex index(LogicalPlan leaf) {
    return leaf instanceof DataSourceV2ScanRelation read && read.scan() instanceof ParquetScan scan
        ? scan.fileIndex()
        : FileScans.relation(leaf).location();
  }
}
