package lakesieve.iceberg;

import java.util.Map;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;

/** Reads the summaries of an Iceberg table's snapshots for the transactions that made them. */
public final class IcebergHistory {
  private IcebergHistory() {}

  /**
   * Return whether a snapshot, or one that it descends from, was made by a transaction or by a
   * later one of the same name.
   *
   * @param head the snapshot, or null for a table without data
   * @param appProperty the snapshot property that keeps the transaction's name
   * @param numberProperty the snapshot property that keeps its number
   * @param app name of the transaction
   * @param number its number; Python sends an Integer or a Long
   */
  public static boolean known(
      Table table,
      Snapshot head,
      String appProperty,
      String numberProperty,
      String app,
      Number number) {
    Snapshot snapshot = head;
    while (snapshot != null) {
      Map<String, String> summary = snapshot.summary();
      if (summary != null && app.equals(summary.get(appProperty))) {
        Long made = parsed(summary.get(numberProperty));
        if (made != null && made >= number.longValue()) return true;
      }
      Long parent = snapshot.parentId();
      snapshot = parent == null ? null : table.snapshot(parent);
    }
    return false;
  }

  private static Long parsed(String number) {
    try {
      return number == null ? null : Long.valueOf(number);
    } catch (NumberFormatException e) {
      return null;
    }
  }
}
