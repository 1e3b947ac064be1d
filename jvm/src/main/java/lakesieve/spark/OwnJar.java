package lakesieve.spark;

import java.net.URI;
import java.nio.file.Path;
import java.security.CodeSource;
import java.util.HashSet;
import java.util.Set;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.SparkSession;

/** The jar that holds the classes of lakesieve in this JVM. */
public final class OwnJar {
  // applications whose executors have the jar; its monitor guards it
  private static final Set<String> SENT = new HashSet<>();

  private OwnJar() {}

  /** Return the path of the jar. */
  public static String path() {
    CodeSource source = OwnJar.class.getProtectionDomain().getCodeSource();
    if (source == null)
      throw new IllegalStateException("lakesieve's classes do not come from a jar");
    return Path.of(URI.create(source.getLocation().toString())).toString();
  }

  /**
   * Send the jar to the executors of the application, which read row blocks with its classes. The
   * jar may be on the class path of the driver alone.
   */
  public static void sendToExecutors(SparkSession session) {
    SparkContext context = session.sparkContext();
    // executors of a local application run in the driver's JVM
    if (context.isLocal()) return;
    synchronized (SENT) {
      if (SENT.contains(context.applicationId())) return;
      context.addJar(path());
      SENT.add(context.applicationId());
    }
  }
}
