package lakesieve.rows;

import java.io.Serializable;
import lakesieve.files.FileRows;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.slf4j.LoggerFactory;
import scala.Function1;
import scala.collection.Iterator;
import scala.runtime.AbstractFunction1;

/** Opens data files on executors: some of their rows where these are known, else all rows. */
final class RowRangeReader extends AbstractFunction1<PartitionedFile, Iterator<InternalRow>>
    implements Serializable {
  private static final long serialVersionUID = 1;

  // Scala's functions are not declared as serializable, but Spark's readers are
  @SuppressWarnings("serial")
  private final Function1<PartitionedFile, Iterator<InternalRow>> whole;

  @SuppressWarnings("serial")
  private final Function1<PartitionedFile, Iterator<InternalRow>> restricted;

  private final Broadcast<FileRows> rows;

  /**
   * Create the function.
   *
   * @param whole reads all rows of a file
   * @param restricted does the same with a configuration that has the predicate on rows
   */
  RowRangeReader(
      Function1<PartitionedFile, Iterator<InternalRow>> whole,
      Function1<PartitionedFile, Iterator<InternalRow>> restricted,
      Broadcast<FileRows> rows) {
    this.whole = whole;
    this.restricted = restricted;
    this.rows = rows;
  }

  @Override
  public Iterator<InternalRow> apply(PartitionedFile file) {
    long length = file.fileSize();
    long[] ranges = rows.value().ranges(file.toPath().toString(), length, file.modificationTime());
    RowPredicate predicate = ranges == null ? null : RowPredicate.installed();
    if (predicate == null) return whole.apply(file);
    predicate.open(new RowGroupAnswers(ranges, length));
    try {
      return restricted.apply(file);
    } catch (RowGroupAnswers.UnknownVisitorException e) {
      LoggerFactory.getLogger("lakesieve")
          .info("all rows of " + file.filePath() + " are read: " + e);
    } finally {
      predicate.open(null);
    }
    return whole.apply(file);
  }
}
