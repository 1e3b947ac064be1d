package lakesieve.rows;

import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.util.function.BiFunction;
import lakesieve.spark.PrivateMembers;
import org.apache.hadoop.conf.Configuration;
import org.apache.parquet.filter2.predicate.FilterPredicate;
import org.apache.parquet.hadoop.ParquetInputFormat;
import org.apache.parquet.hadoop.util.SerializationUtil;
import org.slf4j.LoggerFactory;

/**
 * Defines the predicate {@code RowsOfFile} in Parquet's class loader, and sets what it answers.
 *
 * <p>Spark adds our jar to a class loader below that of Parquet, which reads predicates. So the one
 * small class is defined there, once for each JVM.
 */
final class RowPredicate {
  private static final String NAME = "org.apache.parquet.filter2.predicate.RowsOfFile";
  private static final String RESOURCE = "/" + NAME.replace('.', '/') + ".class";
  // Parquet asks these visitors where the settings are on; their defaults are on
  private static final String[] ASKED = {
    "parquet.filter.dictionary.enabled", ParquetInputFormat.COLUMN_INDEX_FILTERING_ENABLED
  };

  private static RowPredicate installed;
  private static String problem;

  private final Class<?> type;
  private final ThreadLocal<BiFunction<Object, Object, Object>> opened;

  // the type of the public field
  @SuppressWarnings("unchecked")
  private RowPredicate() throws Exception {
    ParquetParts.get();
    type = defined();
    Object field = PrivateMembers.field(null, type, "OPENED");
    opened = (ThreadLocal<BiFunction<Object, Object, Object>>) field;
    BiFunction<Object, Object, Object> every = new RowGroupAnswers(null, 0);
    PrivateMembers.call(
        null, type, "selectEveryRowOtherwise", new Class<?>[] {BiFunction.class}, every);
    requireRoundTrip();
  }

  /** Return the predicate of this JVM; null where the installed Parquet does not allow for it. */
  static synchronized RowPredicate installed() {
    if (installed == null && problem == null) {
      try {
        installed = new RowPredicate();
      } catch (Exception | LinkageError e) {
        problem = String.valueOf(e);
        LoggerFactory.getLogger("lakesieve").info("whole data files are read: " + problem);
      }
    }
    return installed;
  }

  /** Return why files are read whole in this JVM, or null. */
  static synchronized String problem() {
    installed();
    return problem;
  }

  /** Let Parquet ask the predicate about each file that it opens with a configuration. */
  void addTo(Configuration configuration) throws IOException {
    SerializationUtil.writeObjectToConfAsBase64(
        ParquetInputFormat.FILTER_PREDICATE, made(), configuration);
    for (String setting : ASKED) configuration.setBoolean(setting, true);
  }

  /** Set the answers for the file that this thread opens next; null for none. */
  void open(BiFunction<Object, Object, Object> answers) {
    if (answers == null) {
      opened.remove();
    } else {
      opened.set(answers);
    }
  }

  private Object made() {
    try {
      return type.getConstructor().newInstance();
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(NAME, e);
    }
  }

  /** Read a predicate as Parquet does, and check that it has the answers of this thread. */
  private void requireRoundTrip() throws IOException {
    Configuration configuration = new Configuration(false);
    addTo(configuration);
    Object[] asked = new Object[1];
    open(
        (predicate, visitor) -> {
          asked[0] = predicate;
          return null;
        });
    try {
      FilterPredicate read =
          SerializationUtil.readObjectFromConfAsBase64(
              ParquetInputFormat.FILTER_PREDICATE, configuration);
      read.accept(null);
      if (asked[0] != read) throw new IllegalStateException(NAME + " has no answers");
    } finally {
      open(null);
    }
  }

  private static Class<?> defined() throws IOException, IllegalAccessException {
    ClassLoader loader = FilterPredicate.class.getClassLoader();
    try {
      return Class.forName(NAME, true, loader);
    } catch (ClassNotFoundException e) {
      try (InputStream content = RowPredicate.class.getResourceAsStream(RESOURCE)) {
        if (content == null) throw new IOException("no " + RESOURCE);
        return MethodHandles.privateLookupIn(FilterPredicate.class, MethodHandles.lookup())
            .defineClass(content.readAllBytes());
      }
    }
  }
}
