package lakesieve.folders;

import java.nio.charset.StandardCharsets;
import java.util.UUID;
import lakesieve.files.FilePaths;
import lakesieve.files.FileRows;
import lakesieve.files.IdentityMap;
import lakesieve.files.RestrictedFiles;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.FileSourceOptions;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.CatalogFileIndex;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/** Leaves of plans that read files by one of Spark's file sources, and what they read. */
public final class FileScans {
  private static final String PARQUET =
      "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat";

  // file indexes of table formats, with the rows that are read of their files
  private static final IdentityMap<FileRows> ROWS = new IdentityMap<>();

  private FileScans() {}

  /** Return the relation of a leaf that reads files in batch, or null. */
  public static HadoopFsRelation relation(LogicalPlan leaf) {
    return leaf instanceof LogicalRelation read
            && !leaf.isStreaming()
            && read.relation() instanceof HadoopFsRelation relation
        ? relation
        : null;
  }

  /** Return the rows that are read of some files; null if all rows of all files are read. */
  public static FileRows rows(HadoopFsRelation relation) {
    FileIndex files = relation.location();
    FileRows rows = files instanceof RestrictedFiles own ? own.rows() : ROWS.get(files);
    return rows == null || rows.isEmpty() ? null : rows;
  }

  /** Return true if a read may leave out data files that are damaged or gone. */
  public static boolean mayDropFiles(HadoopFsRelation relation) {
    FileSourceOptions options = new FileSourceOptions(relation.options());
    return options.ignoreCorruptFiles() || options.ignoreMissingFiles();
  }

  /** Read only some rows of the files of an index that has a class of its table format. */
  public static void restrict(FileIndex files, FileRows rows) {
    ROWS.put(files, rows);
  }

  /** Return the only leaf of a plan if it reads a directory of Parquet files, or null. */
  public static LogicalPlan parquetLeaf(LogicalPlan plan) {
    var leaves = plan.collectLeaves();
    return leaves.size() == 1 && isParquet(leaves.apply(0)) ? leaves.apply(0) : null;
  }

  /** Return true for a leaf that reads Parquet files listed by Spark itself. */
  public static boolean isParquet(LogicalPlan leaf) {
    HadoopFsRelation relation = relation(leaf);
    return relation != null
        && relation.fileFormat().getClass().getName().equals(PARQUET)
        && (relation.location() instanceof InMemoryFileIndex
            || relation.location() instanceof CatalogFileIndex);
  }

  /** Return the name of a {@link CatalogTable}. */
  public static String name(Object table) {
    return ((CatalogTable) table).identifier().unquotedString();
  }

  /** Return the directory that is read, or null when there are several. */
  public static String location(LogicalPlan leaf) {
    var table = ((LogicalRelation) leaf).catalogTable();
    if (table.isDefined()) return new Path(table.get().location()).toString();
    var roots = relation(leaf).location().rootPaths();
    return roots.size() == 1 ? roots.apply(0).toString() : null;
  }

  /** Return the identity of a directory, a UUID of version 3: it has none but its location. */
  public static String uuid(String location) {
    byte[] root = FilePaths.root(location).getBytes(StandardCharsets.UTF_8);
    return UUID.nameUUIDFromBytes(root).toString();
  }
}
