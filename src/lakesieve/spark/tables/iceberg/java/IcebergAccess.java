package lakesieve;

import java.util.Iterator;
import java.util.Map;
import java.util.TreeMap;
import org.apache.iceberg.Table;
import org.apache.iceberg.io.StorageCredential;
import org.apache.iceberg.io.SupportsStorageCredentials;

/** How Iceberg reaches the files of a table. */
public final class IcebergAccess {
  private IcebergAccess() {}

  /**
   * Settings of the table's file IO for S3, with the credentials that the catalog lent for the table's
   * own folder; empty where Hadoop's file systems are used.
   */
  public static Map fileIo(Table table) {
    Map found = new TreeMap();
    try {
      add(table.io().properties(), found);
      if (table.io() instanceof SupportsStorageCredentials) {
        lent(((SupportsStorageCredentials) table.io()).credentials().iterator(), table.location(), found);
      }
    } catch (UnsupportedOperationException e) {
      // a file IO need not tell
    }
    return found;
  }

  private static void lent(Iterator credentials, String location, Map found) {
    String longest = null;
    while (credentials.hasNext()) {
      StorageCredential one = (StorageCredential) credentials.next();
      boolean better = longest == null || one.prefix().length() > longest.length();
      if (location.startsWith(one.prefix()) && better) {
        longest = one.prefix();
        add(one.config(), found);
      }
    }
  }

  private static void add(Map properties, Map found) {
    if (properties == null) return;
    for (Iterator it = properties.entrySet().iterator(); it.hasNext(); ) {
      Map.Entry entry = (Map.Entry) it.next();
      String name = String.valueOf(entry.getKey());
      if (name.startsWith("s3.") || name.equals("client.region")) {
        found.put(name, String.valueOf(entry.getValue()));
      }
    }
  }
}
