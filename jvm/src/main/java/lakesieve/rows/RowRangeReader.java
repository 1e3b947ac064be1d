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

  private final RestrictedReader restricted;
  private final Broadcast<FileRows> rows;

  /**
   * Create the function.
   *
   * @param whole reads all rows of a file
   * @param restricted reads some rows of a file
   */
  RowRangeReader(
      Function1<PartitionedFile, Iterator<InternalRow>> whole,
      RestrictedReader restricted,
      Broadcast<FileRows> rows) {
    this.whole = whole;
    this.restricted = restricted;
    this.rows = rows;
  }

  @Override
  public Iterator<InternalRow> apply(PartitionedFile file) {
    long modified = file.modificationTime();
    long[] ranges = rows.value().ranges(file.toPath().toString(), file.fileSize(), modified);
    Iterator<InternalRow> some = restricted.open(file, ranges);
    return some == null ? whole.apply(file) : some;
  }
}
