package lakesieve.spark;

import java.util.List;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import scala.collection.Seq;

/** The methods of a file index in front of another one whose types contain a {@code Seq}. */
public abstract class FileIndexInFront implements FileIndex {
  /** The index behind this one. */
  protected final FileIndex behind;

  /** Create an index in front of another one. */
  protected FileIndexInFront(FileIndex behind) {
    this.behind = behind;
  }

  /** Return the files to read in the directories that the index behind this one lists. */
  protected abstract List<PartitionDirectory> read(List<PartitionDirectory> listed);

  @Override
  public Seq<PartitionDirectory> listFiles(Seq<Expression> ofPartitions, Seq<Expression> ofData) {
    return Scala.seq(read(Scala.list(behind.listFiles(ofPartitions, ofData))));
  }

  @Override
  public Seq<Path> rootPaths() {
    return behind.rootPaths();
  }
}
