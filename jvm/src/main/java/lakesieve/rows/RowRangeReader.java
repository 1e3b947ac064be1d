package lakesieve.rows;

import java.io.Serializable;
import lakesieve.files.FileRows;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
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
  private final boolean isVectorized;

  /**
   * Create the function.
   *
   * @param whole reads all rows of a file
   * @param restricted does the same with a configuration that has the predicate on rows
   * @param isVectorized whether Spark decodes columns, and not row by row
   */
  RowRangeReader(
      Function1<PartitionedFile, Iterator<InternalRow>> whole,
      Function1<PartitionedFile, Iterator<InternalRow>> restricted,
      Broadcast<FileRows> rows,
      boolean isVectorized) {
    this.whole = whole;
    this.restricted = restricted;
    this.rows = rows;
    this.isVectorized = isVectorized;
  }

  @Override
  public Iterator<InternalRow> apply(PartitionedFile file) {
    long length = file.fileSize();
    long[] ranges = rows.value().ranges(file.toPath().toString(), length, file.modificationTime());
    RowPredicate predicate = ranges == null ? null : RowPredicate.installed();
    if (predicate == null) return whole.apply(file);
    predicate.open(new RowGroupAnswers(ranges, length, isVectorized));
    try {
      return restricted.apply(file);
    } finally {
      predicate.open(null);
    }
  }
}
