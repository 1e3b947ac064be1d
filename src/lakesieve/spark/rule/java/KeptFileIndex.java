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

  public KeptFileIndex(FileIndex all, PathSet skipped, int kept) {
    this.all = all;
    this.skipped = skipped;
    this.kept = kept;
  }

  public int kept() {
    return this.kept;
  }

  public scala.collection.immutable.Seq listFiles(
      scala.collection.immutable.Seq partitionFilters, scala.collection.immutable.Seq dataFilters) {
    List directories = new ArrayList();
    scala.collection.Iterator it = this.all.listFiles(partitionFilters, dataFilters).iterator();
    while (it.hasNext()) {
      PartitionDirectory directory = (PartitionDirectory) it.next();
      List files = new ArrayList();
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

  public scala.collection.immutable.Seq rootPaths() {
    return this.all.rootPaths();
  }

  public String[] inputFiles() {
    return this.all.inputFiles();
  }

  public void refresh() {
    this.all.refresh();
  }

  public long sizeInBytes() {
    return this.all.sizeInBytes();
  }

  public StructType partitionSchema() {
    return this.all.partitionSchema();
  }

  public scala.Option metadataOpsTimeNs() {
    return this.all.metadataOpsTimeNs();
  }

  // Spark runs scans of equal relations once
  public boolean equals(Object other) {
    if (!(other instanceof KeptFileIndex)) return false;
    KeptFileIndex that = (KeptFileIndex) other;
    return this.all.equals(that.all) && this.skipped.equals(that.skipped);
  }

  public int hashCode() {
    return 31 * this.all.hashCode() + this.skipped.hashCode();
  }

  public String toString() {
    return "KeptFileIndex(" + this.kept + " files of " + this.all + ")";
  }
}
