package lakesieve.rule;

import java.lang.reflect.InvocationTargetException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** The scan adapters of the table formats that a session can read. */
public final class Adapters {
  /**
   * One table format.
   *
   * @param runtime a class that exists if the session can read such tables
   * @param adapter the class of its scan adapter, which links to the runtime's classes
   * @param packages prefixes of the names of the runtime's classes
   */
  private record Format(String runtime, String adapter, String... packages) {}

  private static final List<Format> FORMATS =
      List.of(
          new Format(
              "org.apache.spark.sql.delta.DeltaLog",
              "lakesieve.delta.DeltaScans",
              "org.apache.spark.sql.delta.",
              "io.delta."),
          new Format(
              "org.apache.hudi.HoodieFileIndex",
              "lakesieve.hudi.HudiScans",
              "org.apache.hudi.",
              "org.apache.spark.sql.hudi."),
          new Format(
              "org.apache.iceberg.spark.SparkCatalog",
              "lakesieve.iceberg.IcebergScans",
              "org.apache.iceberg."),
          new Format(
              "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat",
              "lakesieve.folders.ParquetScans"));

  private Adapters() {}

  /** Make the adapters whose runtimes are on the class path. */
  static List<ScanAdapter> available() {
    List<ScanAdapter> adapters = new ArrayList<>();
    for (Format format : FORMATS) {
      if (isThere(format.runtime()) && isThere(format.adapter())) adapters.add(made(format));
    }
    return adapters;
  }

  /** The prefixes of class names that belong to formats without a runtime in this JVM. */
  public static List<String> packagesOfAbsentFormats() {
    return FORMATS.stream()
        .filter(format -> !isThere(format.runtime()))
        .flatMap(format -> Stream.of(format.packages()))
        .toList();
  }

  private static boolean isThere(String name) {
    try {
      Class.forName(name, false, Adapters.class.getClassLoader());
      return true;
    } catch (ClassNotFoundException e) {
      return false;
    }
  }

  private static ScanAdapter made(Format format) {
    try {
      return (ScanAdapter) Class.forName(format.adapter()).getDeclaredConstructor().newInstance();
    } catch (InvocationTargetException e) {
      throw new IllegalStateException(format.adapter(), e.getCause());
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(format.adapter(), e);
    }
  }
}
