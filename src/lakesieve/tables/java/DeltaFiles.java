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
    more.put("reader", new Integer(protocol.minReaderVersion()));
    more.put("features", features);
    more.put("mapping", metadata.columnMappingMode().name());
    return FileScans.document(
        spark, metadata.schemaString(), metadata.partitionSchema().fieldNames(), more);
  }

  /** Absolute path of a data file as the log writes it: relative or absolute, percent-encoded. */
  public static String absolute(Path root, String logged) throws Exception {
    Path path = new Path(new URI(logged));
    return path.isAbsolute() ? path.toString() : new Path(root, path).toString();
  }
}
