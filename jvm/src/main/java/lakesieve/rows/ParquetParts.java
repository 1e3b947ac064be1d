package lakesieve.rows;

import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.List;
import java.util.Map;
import java.util.PrimitiveIterator;
import java.util.stream.IntStream;
import lakesieve.spark.PrivateMembers;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.internal.column.columnindex.OffsetIndex;
import org.apache.parquet.io.InputFile;

/** The private members of Parquet's classes by which a predicate learns which rows it is about. */
final class ParquetParts {
  private static final String PACKAGE = "org.apache.parquet.";
  private static final String RANGES = PACKAGE + "internal.filter2.columnindex.RowRanges";

  /** The visitor that asks for the rows of a row group. */
  static final String ROWS = PACKAGE + "internal.filter2.columnindex.ColumnIndexFilter";

  /** The visitor that asks whether a row group can be dropped, and knows its reader. */
  static final String DICTIONARIES = PACKAGE + "filter2.dictionarylevel.DictionaryFilter";

  private static final ParquetParts PARTS = new ParquetParts();

  private final Field store;
  private final Field rowCount;
  private final Field dictionaries;
  private final Field columns;
  private final Field reader;
  private final Field stores;
  private final Field file;
  // its result type has moved to another package after Parquet 1.17
  private final Method ranges;

  private ParquetParts() {
    Class<?> rows = parquetClass(ROWS);
    store = PrivateMembers.requireField(rows, "columnIndexStore");
    rowCount = PrivateMembers.requireField(rows, "rowCount");
    dictionaries = PrivateMembers.requireField(parquetClass(DICTIONARIES), "dictionaries");
    Class<?> pages = parquetClass(PACKAGE + "hadoop.DictionaryPageReader");
    columns = PrivateMembers.requireField(pages, "columns");
    reader = PrivateMembers.requireField(pages, "reader");
    stores = PrivateMembers.requireField(ParquetFileReader.class, "blockIndexStores");
    file = PrivateMembers.requireField(ParquetFileReader.class, "file");
    ranges =
        PrivateMembers.requireMethod(
            parquetClass(RANGES),
            "create",
            long.class,
            PrimitiveIterator.OfInt.class,
            OffsetIndex.class);
  }

  /** Return the members; throws where this version of Parquet lacks one of them. */
  static ParquetParts get() {
    return PARTS;
  }

  private static Class<?> parquetClass(String name) {
    try {
      return Class.forName(name, false, ParquetFileReader.class.getClassLoader());
    } catch (ClassNotFoundException e) {
      throw new IllegalStateException(name + " is missing in the installed version", e);
    }
  }

  /** The index store of the row group whose rows a visitor asks for. */
  Object store(Object visitor) {
    return value(store, visitor);
  }

  /** The number of rows of the row group whose rows a visitor asks for. */
  long rowCount(Object visitor) {
    return (long) value(rowCount, visitor);
  }

  /** What reads the dictionaries of the row group that may be dropped. */
  Object dictionaries(Object visitor) {
    return value(dictionaries, visitor);
  }

  /** The columns of a row group, by a reader of its dictionaries. */
  Map<?, ?> columns(Object dictionaries) {
    return (Map<?, ?>) value(columns, dictionaries);
  }

  /** The file reader that has made a reader of dictionaries. */
  ParquetFileReader reader(Object dictionaries) {
    return (ParquetFileReader) value(reader, dictionaries);
  }

  /** The index stores that a file reader has made, by row group. */
  List<?> stores(ParquetFileReader reader) {
    return (List<?>) value(stores, reader);
  }

  /** The length of the file that is read, in bytes. */
  long length(ParquetFileReader reader) throws IOException {
    return ((InputFile) value(file, reader)).getLength();
  }

  private static Object value(Field field, Object of) {
    try {
      return field.get(of);
    } catch (IllegalAccessException e) {
      throw new IllegalStateException("cannot read " + field, e);
    }
  }

  /**
   * Return Parquet's own row ranges.
   *
   * @param wanted see {@link lakesieve.files.RowRanges}, counted from the row group's first row
   * @param rows the number of rows of the row group
   */
  Object ranges(long[] wanted, long rows) {
    PrimitiveIterator.OfInt pages = IntStream.range(0, wanted.length / 2).iterator();
    try {
      return ranges.invoke(null, rows, pages, new WantedPages(wanted));
    } catch (IllegalAccessException e) {
      throw new IllegalStateException("cannot call " + ranges, e);
    } catch (InvocationTargetException e) {
      throw new IllegalStateException(e.getCause());
    }
  }

  /** Row ranges as if each were a page. */
  private record WantedPages(long[] wanted) implements OffsetIndex {
    @Override
    public int getPageCount() {
      return wanted.length / 2;
    }

    @Override
    public long getFirstRowIndex(int page) {
      return wanted[2 * page];
    }

    @Override
    public long getLastRowIndex(int page, long rows) {
      return wanted[2 * page + 1] - 1;
    }

    @Override
    public long getOffset(int page) {
      throw new UnsupportedOperationException("no page of a file");
    }

    @Override
    public int getCompressedPageSize(int page) {
      throw new UnsupportedOperationException("no page of a file");
    }
  }
}
