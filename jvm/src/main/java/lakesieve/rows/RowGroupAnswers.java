package lakesieve.rows;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BiFunction;
import lakesieve.files.RowRanges;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;
import org.apache.parquet.hadoop.metadata.ColumnPath;
import org.apache.parquet.internal.filter2.columnindex.ColumnIndexStore;
import org.apache.parquet.internal.filter2.columnindex.ColumnIndexStore.MissingOffsetIndexException;

/**
 * What a predicate that selects rows of one file answers to Parquet's visitors.
 *
 * <p>Parquet first asks about each row group whether to drop it, and then which of its rows to
 * read. Whatever is not known for certain is answered so that all rows of the row group are read.
 */
final class RowGroupAnswers implements BiFunction<Object, Object, Object> {
  private static final String FILTERS = "org.apache.parquet.filter2.";
  // other visitors that ask whether a row group can be dropped
  private static final Set<String> DROPPING =
      Set.of(
          FILTERS + "statisticslevel.StatisticsFilter",
          FILTERS + "bloomfilterlevel.BloomFilterImpl");
  // visitors that return a predicate, which may be another one
  private static final Set<String> REWRITING =
      Set.of(
          FILTERS + "predicate.LogicalInverseRewriter",
          FILTERS + "predicate.LogicalInverter",
          FILTERS + "predicate.ContainsRewriter");
  private static final String VALIDATOR = FILTERS + "predicate.SchemaCompatibilityValidator";
  private static final ColumnPath NO_COLUMN = ColumnPath.get("");
  private static final String VECTORIZED =
      "org.apache.spark.sql.execution.datasources.parquet.VectorizedParquetRecordReader";

  /** Thrown when Parquet asks a question that is not known, before it reads any row of a file. */
  static final class UnknownVisitorException extends RuntimeException {
    private static final long serialVersionUID = 1;

    UnknownVisitorException(String visitor) {
      super("a predicate on row numbers is asked by " + visitor);
    }
  }

  private final long[] ranges; // null for all rows
  private final long length;
  private ParquetFileReader reader;

  /**
   * Create the answers for one file.
   *
   * @param ranges the rows to read, see {@link RowRanges}; null for all rows
   * @param length of the file that the ranges are about, in bytes
   */
  RowGroupAnswers(long[] ranges, long length) {
    this.ranges = ranges;
    this.length = length;
  }

  @Override
  public Object apply(Object predicate, Object visitor) {
    String asks = visitor.getClass().getName();
    if (asks.equals(ParquetParts.ROWS)) return rows(visitor);
    if (asks.equals(ParquetParts.DICTIONARIES)) return canDrop(visitor);
    if (DROPPING.contains(asks)) return false;
    if (REWRITING.contains(asks)) return predicate;
    if (asks.equals(VALIDATOR)) return null;
    throw new UnknownVisitorException(asks);
  }

  /** Return true for a row group without any row to read. */
  private boolean canDrop(Object visitor) {
    if (ranges == null) return false;
    ParquetParts parts = ParquetParts.get();
    Object dictionaries = parts.dictionaries(visitor);
    reader = parts.reader(dictionaries);
    if (!isExpected(reader)) {
      reader = null;
      return false;
    }
    BlockMetaData group = group(reader.getFooter().getBlocks(), parts.columns(dictionaries));
    return group != null && hasRowNumbers(group) && wanted(group).length == 0;
  }

  /** Return Parquet's ranges of the rows to read of a row group. */
  private Object rows(Object visitor) {
    ParquetParts parts = ParquetParts.get();
    long rows = parts.rowCount(visitor);
    long[] all = {0, rows};
    if (ranges == null || reader == null || !isVectorized()) return parts.ranges(all, rows);
    ColumnIndexStore store = (ColumnIndexStore) parts.store(visitor);
    int at = hasOffsets(store) ? indexOf(parts.stores(reader), store) : -1;
    if (at < 0) return parts.ranges(all, rows);
    BlockMetaData group = reader.getRowGroups().get(at);
    boolean isKnown = hasRowNumbers(group) && group.getRowCount() == rows;
    return parts.ranges(isKnown ? wanted(group) : all, rows);
  }

  /**
   * Return true if Spark's vectorized reader reads the file, which may leave out pages.
   *
   * <p>Parquet's row-wise reader must not: it was seen to return another row's values for the last
   * row of a row group. The stack tells the reader for certain. Settings do not, because Hudi
   * changes them while it plans a query.
   */
  private static boolean isVectorized() {
    return StackWalker.getInstance()
        .walk(frames -> frames.anyMatch(frame -> frame.getClassName().equals(VECTORIZED)));
  }

  /** Return false for a file that has another length than the one that was planned. */
  private boolean isExpected(ParquetFileReader reader) {
    try {
      return ParquetParts.get().length(reader) == length;
    } catch (IOException e) {
      return false;
    }
  }

  private long[] wanted(BlockMetaData group) {
    return RowRanges.within(ranges, group.getRowIndexOffset(), group.getRowCount());
  }

  private static boolean hasRowNumbers(BlockMetaData group) {
    return group.getRowIndexOffset() >= 0;
  }

  /** Return the row group that has the very columns, or null. */
  private static BlockMetaData group(List<BlockMetaData> groups, Map<?, ?> columns) {
    if (columns.isEmpty()) return null;
    for (BlockMetaData group : groups) {
      List<ColumnChunkMetaData> own = group.getColumns();
      if (own.size() != columns.size()) continue;
      ColumnChunkMetaData first = own.get(0);
      if (columns.get(first.getPath().toDotString()) == first) return group;
    }
    return null;
  }

  /** Return false if the file lacks an offset index, without which Parquet reads all rows. */
  private static boolean hasOffsets(ColumnIndexStore store) {
    try {
      store.getOffsetIndex(NO_COLUMN);
      return true;
    } catch (MissingOffsetIndexException e) {
      return false;
    }
  }

  private static int indexOf(List<?> stores, Object store) {
    for (int at = 0; at < stores.size(); at++) {
      if (stores.get(at) == store) return at;
    }
    return -1;
  }
}
