package lakesieve.rows;

import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.util.HashMap;
import java.util.Map;
import java.util.function.UnaryOperator;
import lakesieve.files.IdentitySet;
import org.apache.spark.sql.connector.read.Scan;

/**
 * Scans of connectors that read only some rows of their files, by identity.
 *
 * <p>Logical plans keep the scan of the table format, so all rules see the scan that they know.
 * Only the physical plan has the scan that reads fewer rows.
 */
public final class RestrictedScans {
  private static final Map<IdentitySet.Ref, UnaryOperator<Scan>> SCANS = new HashMap<>();
  private static final ReferenceQueue<Object> COLLECTED = new ReferenceQueue<>();

  private RestrictedScans() {}

  /**
   * Restrict a scan, or no longer.
   *
   * @param restriction makes the scan that reads fewer rows, and does not refer to the scan itself;
   *     null to read all rows
   */
  public static synchronized void put(Scan scan, UnaryOperator<Scan> restriction) {
    for (Reference<?> gone = COLLECTED.poll(); gone != null; gone = COLLECTED.poll()) {
      SCANS.remove(gone);
    }
    IdentitySet.Ref ref = new IdentitySet.Ref(scan, COLLECTED);
    if (restriction == null) {
      SCANS.remove(ref);
    } else {
      SCANS.put(ref, restriction);
    }
  }

  /** Return what restricts a scan, or null for a scan that reads all rows. */
  public static synchronized UnaryOperator<Scan> of(Scan scan) {
    return SCANS.get(new IdentitySet.Ref(scan, null));
  }
}
