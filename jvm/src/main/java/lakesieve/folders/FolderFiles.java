package lakesieve.folders;

import java.util.Iterator;
import java.util.List;
import lakesieve.files.PathSet;
import lakesieve.spark.Scala;
import org.apache.hadoop.fs.FileStatus;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.CatalogFileIndex;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex;
import org.apache.spark.sql.execution.datasources.NoopCache$;
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex;
import scala.Option;

/** The files that Spark lists in the folders of a relation, and their identities. */
public final class FolderFiles {
  private FolderFiles() {}

  /** Return the identity of a file that may be rewritten in place. */
  public static String identity(FileStatus file) {
    return file.getPath() + "#" + file.getLen() + "@" + file.getModificationTime();
  }

  /** Return all files of an index, before partition pruning, as the index has listed them. */
  public static List<FileStatus> of(FileIndex index) {
    return Scala.list(whole(index).allFiles());
  }

  /** Return the identities of a relation's files as they are now, listed again. */
  static PathSet currentIdentities(HadoopFsRelation relation) {
    PartitioningAwareFileIndex listed = whole(relation.location());
    var current =
        new InMemoryFileIndex(
            relation.sparkSession(),
            listed.rootPaths(),
            relation.options(),
            Option.empty(),
            NoopCache$.MODULE$,
            Option.apply(listed.partitionSpec()),
            Option.empty());
    PathSet identities = new PathSet();
    for (FileStatus file : of(current)) identities.add(identity(file));
    return identities;
  }

  /** Return all files that a leaf reads, for {@link #identities}. */
  public static Iterator<FileStatus> listed(LogicalPlan leaf) {
    return of(FileScans.relation(leaf).location()).iterator();
  }

  /** Return the identities of the next files, one a line; the empty string after the last. */
  public static String identities(Iterator<FileStatus> files) {
    StringBuilder lines = new StringBuilder();
    for (int i = 0; i < PathLines.LIMIT && files.hasNext(); i++) {
      PathLines.append(lines, identity(files.next()));
    }
    return lines.toString();
  }

  private static PartitioningAwareFileIndex whole(FileIndex index) {
    return index instanceof CatalogFileIndex catalog
        ? catalog.filterPartitions(Scala.seq(List.of()))
        : (PartitioningAwareFileIndex) index;
  }
}
