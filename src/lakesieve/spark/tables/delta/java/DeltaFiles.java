package lakesieve;

import java.net.URI;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.SnapshotDescriptor;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.actions.Protocol;

/** What a snapshot of a Delta table says of its schema, and where its files are. */
public final class DeltaFiles {
  private DeltaFiles() {}

  /** How the snapshot is read: its schema, column mapping, and what a reader must understand. */
  public static String schema(SparkSession spark, SnapshotDescriptor snapshot) throws Exception {
    Metadata metadata = snapshot.metadata();
    Protocol protocol = snapshot.protocol();
    List features = new ArrayList();
    if (protocol.readerFeatures().isDefined()) {
      scala.collection.Iterator it =
          ((scala.collection.Iterable) protocol.readerFeatures().get()).iterator();
      while (it.hasNext()) features.add(it.next());
    }
    Map more = new LinkedHashMap();
    more.put("reader", Integer.valueOf(protocol.minReaderVersion()));
    more.put("features", features);
    more.put("mapping", metadata.columnMappingMode().name());
    return FileScans.document(
        spark, metadata.schemaString(), metadata.partitionSchema().fieldNames(), more);
  }

  /**
   * Absolute path of a data file as the log writes it: relative or absolute, percent-encoded.
   *
   * @param root the table's, as text
   */
  public static String absolute(String root, String logged) throws Exception {
    // as nearly all are, and a table may have many
    if (isPlain(logged)) return root.endsWith("/") ? root + logged : root + "/" + logged;
    Path path = new Path(new URI(logged));
    return path.isAbsolute() ? path.toString() : new Path(new Path(root), path).toString();
  }

  /** True for a relative path that means itself: nothing to decode, nothing to leave out. */
  private static boolean isPlain(String logged) {
    char before = '/';
    for (int i = 0; i < logged.length(); i++) {
      char c = logged.charAt(i);
      boolean word = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9';
      // what begins with a dot may be a step, an empty name is left out
      boolean inside = before != '/' && (c == '/' || c == '.');
      if (!word && !inside && c != '-' && c != '_' && c != '=') return false;
      before = c;
    }
    return before != '/';
  }
}
