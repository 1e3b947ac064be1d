package lakesieve.delta;

import java.net.URI;
import java.net.URISyntaxException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import lakesieve.files.FilePaths;
import lakesieve.folders.SchemaDocument;
import lakesieve.spark.Scala;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.SnapshotDescriptor;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.actions.Protocol;

/** The schema of a snapshot of a Delta table, and the paths of its files. */
public final class DeltaFiles {
  private DeltaFiles() {}

  /**
   * Describe how a snapshot is read: its schema, its column mapping, and the features that a reader
   * must support.
   */
  public static String schema(SparkSession spark, SnapshotDescriptor snapshot) throws Exception {
    Metadata metadata = snapshot.metadata();
    Protocol protocol = snapshot.protocol();
    var features = protocol.readerFeatures();
    List<String> names = features.isDefined() ? Scala.list(features.get().toSeq()) : List.of();
    Map<String, Object> more = new LinkedHashMap<>();
    more.put("reader", protocol.minReaderVersion());
    more.put("features", names);
    more.put("mapping", metadata.columnMappingMode().name());
    return SchemaDocument.of(
        spark, metadata.schemaString(), metadata.partitionSchema().fieldNames(), more);
  }

  /**
   * Return the absolute path of a data file, see {@link FilePaths}.
   *
   * @param root the root path of the table
   * @param logged the path in the Delta log: relative or absolute, percent-encoded
   */
  public static String path(String root, String logged) throws URISyntaxException {
    // the fast way, for nearly all paths
    if (isPlain(logged)) {
      return FilePaths.normal(root.endsWith("/") ? root + logged : root + "/" + logged);
    }
    Path path = new Path(new URI(logged));
    return FilePaths.normal((path.isAbsolute() ? path : new Path(new Path(root), path)).toString());
  }

  /** True for a relative path that needs neither decoding nor normalization. */
  private static boolean isPlain(String logged) {
    char previous = '/';
    for (int i = 0; i < logged.length(); i++) {
      char c = logged.charAt(i);
      boolean word = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9';
      // a name that begins with a dot may be "." or ".."; an empty name is dropped
      boolean inside = previous != '/' && (c == '/' || c == '.');
      if (!word && !inside && c != '-' && c != '_' && c != '=') return false;
      previous = c;
    }
    return previous != '/';
  }
}
