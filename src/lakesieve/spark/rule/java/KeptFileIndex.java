package lakesieve;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.StructType;

/**
 * A file index without some of its files; partition pruning goes on in the one behind it.
 *
 * <p>It leaves out what is named, so that a file that came since is read.
 */
public final class KeptFileIndex implements FileIndex {
  private final FileIndex all;
  private final PathSet skipped;
  private final int kept;

  /** Make it of an index, the files to leave out of it, and the number of the others. */
  public KeptFileIndex(FileIndex all, PathSet skipped, int kept) {
    this.all = all;
    this.skipped = skipped;
    this.kept = kept;
  }

  /** Number of files that are kept. */
  public int kept() {
    return this.kept;
  }

  /** The files of the index behind this one, without those left out. */
  @Override
  public ${Seq} listFiles(${Seq} partitionFilters, ${Seq} dataFilters) {
    List<PartitionDirectory> directories = new ArrayList<>();
    scala.collection.Iterator it = this.all.listFiles(partitionFilters, dataFilters).iterator();
    while (it.hasNext()) {
      PartitionDirectory directory = (PartitionDirectory) it.next();
      List<FileStatusWithMetadata> files = new ArrayList<>();
      scala.collection.Iterator inside = directory.files().iterator();
      while (inside.hasNext()) {
        FileStatusWithMetadata file = (FileStatusWithMetadata) inside.next();
        if (!this.skipped.contains(FileScans.identity(file.fileStatus()))) files.add(file);
      }
      if (!files.isEmpty()) {
        directories.add(new PartitionDirectory(directory.values(), FileRelations.seq(files)));
      }
    }
    return FileRelations.seq(directories);
  }

  /** The roots of the index behind this one. */
  @Override
  public ${Seq} rootPaths() {
    return this.all.rootPaths();
  }

  /** All files of the index behind this one. */
  @Override
  public String[] inputFiles() {
    return this.all.inputFiles();
  }

  /** Refresh the index behind this one. */
  @Override
  public void refresh() {
    this.all.refresh();
  }

  /** Bytes of the index behind this one. */
  @Override
  public long sizeInBytes() {
    return this.all.sizeInBytes();
  }

  /** Partition columns of the index behind this one. */
  @Override
  public StructType partitionSchema() {
    return this.all.partitionSchema();
  }

  /** Time that the index behind this one took to list its files. */
  @Override
  public scala.Option metadataOpsTimeNs() {
    return this.all.metadataOpsTimeNs();
  }

  /** True for an index that keeps the same files: Spark runs scans of equal relations once. */
  @Override
  public boolean equals(Object other) {
    if (!(other instanceof KeptFileIndex)) return false;
    KeptFileIndex that = (KeptFileIndex) other;
    return this.all.equals(that.all) && this.skipped.equals(that.skipped);
  }

  /** A hash of the index and the files left out. */
  @Override
  public int hashCode() {
    return 31 * this.all.hashCode() + this.skipped.hashCode();
  }

  /** The number of files and the index, for plans. */
  @Override
  public String toString() {
    return "KeptFileIndex(" + this.kept + " files of " + this.all + ")";
  }
}
