package lakesieve.iceberg;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.iceberg.Table;
import org.apache.iceberg.io.StorageCredential;
import org.apache.iceberg.io.SupportsStorageCredentials;

/** How Iceberg accesses the files of a table. */
public final class IcebergAccess {
  private IcebergAccess() {}

  /**
   * The S3 settings of the table's file IO, with the credentials that the catalog vended for the
   * table's location; empty where Hadoop's file systems are used.
   */
  public static Map<String, String> fileIo(Table table) {
    Map<String, String> settings = new TreeMap<>();
    try {
      addS3(table.io().properties(), settings);
      if (table.io() instanceof SupportsStorageCredentials io) {
        addVended(io.credentials(), table.location(), settings);
      }
    } catch (UnsupportedOperationException e) {
      // a file IO may have no properties
    }
    return settings;
  }

  /** Add the credentials for prefixes of a location, those for the longest prefix last. */
  private static void addVended(
      List<StorageCredential> vended, String location, Map<String, String> settings) {
    String longest = null;
    for (StorageCredential credential : vended) {
      String prefix = credential.prefix();
      boolean better = longest == null || prefix.length() > longest.length();
      if (location.startsWith(prefix) && better) {
        longest = prefix;
        addS3(credential.config(), settings);
      }
    }
  }

  private static void addS3(Map<String, String> properties, Map<String, String> settings) {
    if (properties == null) return;
    properties.forEach(
        (name, value) -> {
          if (name.startsWith("s3.") || name.equals("client.region")) settings.put(name, value);
        });
  }
}
