package lakesieve.check;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;
import lakesieve.rule.Adapters;
import lakesieve.rule.ScanReport;
import lakesieve.spark.OwnJar;
import org.apache.spark.sql.SparkSession;

/** Checks whether lakesieve works on a version of Spark that was not tested. */
public final class SparkCheck {
  private static final int SHOWN = 8;

  private static boolean isBegun;
  private static boolean isDone;
  private static String problem;

  private SparkCheck() {}

  /**
   * Run the check, once for each JVM.
   *
   * @return what is missing or goes wrong, or null where files may be skipped
   */
  public static synchronized String problem(SparkSession session) {
    if (isBegun) return problem;
    isBegun = true;
    try {
      List<String> missing = missing();
      problem = missing.isEmpty() ? TrialQuery.problem(session) : shown(missing);
    } catch (Throwable t) {
      problem = "the check of this version of Spark failed: " + t;
    }
    isDone = true;
    return problem;
  }

  /** True in the session of the trial query. Other threads wait for it. */
  public static synchronized boolean isUnderWay() {
    return isBegun && !isDone;
  }

  /** The problem as JSON, in the form of the pruning rule's report. */
  public static synchronized String report() {
    return !isDone || problem == null ? "[]" : ScanReport.withoutScan("spark-unsuited", problem);
  }

  private static List<String> missing() throws IOException {
    ClassLoader loader = SparkCheck.class.getClassLoader();
    List<String> absent = Adapters.packagesOfAbsentFormats();
    Predicate<String> ignored = name -> absent.stream().anyMatch(name::startsWith);
    return new ArrayList<>(MissingMembers.of(ownClasses(), loader, ignored));
  }

  private static Map<String, byte[]> ownClasses() throws IOException {
    Map<String, byte[]> classes = new TreeMap<>();
    try (InputStream file = Files.newInputStream(Path.of(OwnJar.path()));
        ZipInputStream entries = new ZipInputStream(file)) {
      for (ZipEntry e = entries.getNextEntry(); e != null; e = entries.getNextEntry()) {
        String name = e.getName();
        if (!name.startsWith("lakesieve/") || !name.endsWith(".class")) continue;
        String type = name.substring(0, name.length() - ".class".length()).replace('/', '.');
        classes.put(type, entries.readAllBytes());
      }
    }
    if (classes.isEmpty()) throw new IOException("no classes of lakesieve in " + OwnJar.path());
    return classes;
  }

  private static String shown(List<String> missing) {
    int more = missing.size() - SHOWN;
    String names = String.join("; ", missing.subList(0, Math.min(SHOWN, missing.size())));
    return "this version of Spark lacks " + names + (more > 0 ? "; and " + more + " more" : "");
  }
}
