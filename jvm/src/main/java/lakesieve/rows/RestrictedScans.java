package lakesieve.rows;

import java.util.function.UnaryOperator;
import lakesieve.files.IdentityMap;
import org.apache.spark.sql.connector.read.Scan;

/**
 * Scans of connectors that read only some rows of their files, by identity.
 *
 * <p>Logical plans keep the scan of the table format, so all rules see the scan that they know.
 * Only the physical plan has the scan that reads fewer rows.
 */
public final class RestrictedScans {
  private static final IdentityMap<UnaryOperator<Scan>> SCANS = new IdentityMap<>();

  private RestrictedScans() {}

  /**
   * Restrict a scan, or no longer.
   *
   * @param restriction makes the scan that reads fewer rows, and does not refer to the scan itself;
   *     null to read all rows
   */
  public static void put(Scan scan, UnaryOperator<Scan> restriction) {
    SCANS.put(scan, restriction);
  }

  /** Return what restricts a scan, or null for a scan that reads all rows. */
  public static UnaryOperator<Scan> of(Scan scan) {
    return SCANS.get(scan);
  }
}
