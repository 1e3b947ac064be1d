package lakesieve.folders;

import java.util.List;
import java.util.Objects;
import lakesieve.files.FileRows;
import lakesieve.files.PathSet;
import lakesieve.files.RestrictedFiles;
import lakesieve.spark.FileIndexInFront;
import lakesieve.spark.Scala;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.StructType;
import scala.Option;

/**
 * A file index that leaves out some files. The index behind it still does partition pruning.
 *
 * <p>It names the files to leave out, so that a file that was added meanwhile is read.
 */
public final class KeptFileIndex extends FileIndexInFront implements RestrictedFiles {
  private final PathSet skipped;
  private final int kept;
  private final FileRows rows; // null: all rows of every file

  /**
   * Create an index in front of another one.
   *
   * @param all the index behind it
   * @param skipped identities of the files to leave out
   * @param kept the number of the other files
   */
  public KeptFileIndex(FileIndex all, PathSet skipped, int kept) {
    this(all, skipped, kept, new FileRows());
  }

  /**
   * Create an index of which only some rows are read.
   *
   * @param rows the rows to read; an index behind this one may leave out others
   */
  public KeptFileIndex(FileIndex all, PathSet skipped, int kept, FileRows rows) {
    super(all);
    this.skipped = skipped;
    this.kept = kept;
    if (all instanceof KeptFileIndex some) rows.retain(some.rows);
    this.rows = rows.isEmpty() ? null : rows;
  }

  /** Return the number of files that are kept. */
  public int kept() {
    return kept;
  }

  @Override
  public FileRows rows() {
    return rows;
  }

  @Override
  protected List<PartitionDirectory> read(List<PartitionDirectory> listed) {
    return listed.stream()
        .map(this::read)
        .filter(directory -> !directory.files().isEmpty())
        .toList();
  }

  private PartitionDirectory read(PartitionDirectory directory) {
    var files =
        Scala.list(directory.files()).stream()
            .filter(file -> !skipped.contains(FolderFiles.identity(file.fileStatus())))
            .toList();
    return new PartitionDirectory(directory.values(), Scala.seq(files));
  }

  @Override
  public String[] inputFiles() {
    return behind.inputFiles();
  }

  @Override
  public void refresh() {
    behind.refresh();
  }

  @Override
  public long sizeInBytes() {
    return behind.sizeInBytes();
  }

  @Override
  public StructType partitionSchema() {
    return behind.partitionSchema();
  }

  @Override
  public Option<Object> metadataOpsTimeNs() {
    return behind.metadataOpsTimeNs();
  }

  /**
   * Return true for an index that keeps the same files: Spark runs scans of equal relations once.
   */
  @Override
  public boolean equals(Object other) {
    return other instanceof KeptFileIndex that
        && behind.equals(that.behind)
        && skipped.equals(that.skipped)
        && Objects.equals(rows, that.rows);
  }

  @Override
  public int hashCode() {
    return 31 * behind.hashCode() + skipped.hashCode();
  }

  /** Return the number of files and the index behind, for plans. */
  @Override
  public String toString() {
    return "KeptFileIndex(" + kept + " files of " + behind + ")";
  }
}
