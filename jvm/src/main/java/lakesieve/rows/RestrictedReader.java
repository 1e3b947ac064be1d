package lakesieve.rows;

import java.io.IOException;
import java.io.Serializable;
import java.util.function.Function;
import lakesieve.files.FileRows;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.slf4j.LoggerFactory;
import scala.Function1;
import scala.collection.Iterator;

/** Opens data files of which only some rows are read. */
final class RestrictedReader implements Serializable {
  private static final long serialVersionUID = 1;
  // Parquet's name for reading the parts of a file at the same time
  private static final String VECTORED = "parquet.hadoop.vectored.io.enabled";

  // Scala's functions are not declared as serializable, but Spark's readers are
  @SuppressWarnings("serial")
  private final Function1<PartitionedFile, Iterator<InternalRow>> reader;

  private RestrictedReader(Function1<PartitionedFile, Iterator<InternalRow>> reader) {
    this.reader = reader;
  }

  /**
   * Create the reader.
   *
   * @param configuration gets the predicate on rows
   * @param rows the rows to read
   * @param maker makes Spark's reader with that configuration
   * @return null where the installed Parquet reads whole files only
   */
  static RestrictedReader of(
      Configuration configuration,
      FileRows rows,
      Function<Configuration, Function1<PartitionedFile, Iterator<InternalRow>>> maker) {
    RowPredicate predicate = RowPredicate.installed();
    if (predicate == null) return null;
    try {
      predicate.addTo(configuration);
    } catch (IOException e) {
      return null;
    }
    // Hadoop reads each page of a local file in a thread of its own, which keeps a buffer
    if (rows.anyIsLocal()) configuration.setBoolean(VECTORED, false);
    return new RestrictedReader(maker.apply(configuration));
  }

  /**
   * Open a file.
   *
   * @param ranges the rows to read, see {@link lakesieve.files.RowRanges}; null for all rows
   * @return null where all rows must be read, by another reader
   */
  Iterator<InternalRow> open(PartitionedFile file, long[] ranges) {
    RowPredicate predicate = ranges == null ? null : RowPredicate.installed();
    if (predicate == null) return null;
    predicate.open(new RowGroupAnswers(ranges, file.fileSize()));
    try {
      return reader.apply(file);
    } catch (RowGroupAnswers.UnknownVisitorException e) {
      LoggerFactory.getLogger("lakesieve")
          .info("all rows of " + file.filePath() + " are read: " + e);
      return null;
    } finally {
      predicate.open(null);
    }
  }
}
