package lakesieve.rule;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import lakesieve.files.FileRows;

/** The result of pruning one scan: a row of the report. */
final class ScanOutcome {
  /**
   * Why data files are read that might have been skipped.
   *
   * @param code one of the reasons' codes, which never change
   * @param detail a sentence
   */
  public record Reason(String code, String detail) {}

  /** The name of the table; null for a failure. */
  final String table;

  /** Number of data files without pruning. */
  final int total;

  /** Number of data files that the scan reads, as pruned so far. */
  int read;

  /** Number of these data files that no index covers. */
  int uncovered;

  /** The rows that the scan reads of some files, or null. */
  FileRows rows;

  /** Why the scan reads all rows of files of which an index names some rows. */
  List<String> wholeFiles = List.of();

  /** Why the scan reads row groups as a whole of which an index names some rows. */
  List<String> wholeRowGroups = List.of();

  /** Why the table format does not allow the scan to be pruned, or null. */
  String refusal;

  /** The fate of equality deletes: a code and a sentence with a tab in between; or null. */
  String deletes;

  /** The names of the indexes that the planner asked. */
  List<?> indexes = List.of();

  private final Set<Reason> ownReasons = new LinkedHashSet<>();
  // the planner's reasons and its text of the predicate are reported unchanged
  private List<?> reasons = List.of();
  private String predicate = "";

  /**
   * Create the outcome of a scan that is to be pruned.
   *
   * @param total number of data files without pruning
   * @param read number of data files that the scan reads now
   */
  ScanOutcome(String table, int total, int read) {
    this.table = table;
    this.total = total;
    this.read = read;
  }

  /** Create the outcome of a query whose scans were not looked at, for a reason. */
  static ScanOutcome without(String code, String detail) {
    ScanOutcome outcome = new ScanOutcome(null, 0, 0);
    outcome.skipped(code, detail);
    return outcome;
  }

  /** Note which indexes the planner asked, its reasons, and the predicate's text. */
  void answered(List<?> indexes, List<?> reasons, String predicate) {
    this.indexes = indexes == null ? List.of() : indexes;
    this.reasons = reasons == null ? List.of() : reasons;
    this.predicate = predicate == null ? "" : predicate;
  }

  /** Note why the scan was not pruned, or not by the keys of a join. */
  void skipped(String code, String detail) {
    ownReasons.add(new Reason(code, detail));
  }

  /** Note that an index has the answer, so nothing is read. */
  void readNothing() {
    read = 0;
    uncovered = 0;
    rows = null;
    wholeFiles = List.of();
    wholeRowGroups = List.of();
    String names = indexes.stream().map(String::valueOf).collect(Collectors.joining(", "));
    reasons = List.of(new Reason("from-index", names));
  }

  /** Return the row as the report shows it. */
  Map<String, Object> shown() {
    List<Object> all = new ArrayList<>(reasons);
    all.addAll(ownReasons);
    if (refusal != null) all.add(new Reason("scan-unsupported", refusal));
    for (String why : wholeFiles) all.add(new Reason("whole-files", why));
    for (String why : wholeRowGroups) all.add(new Reason("row-groups", why));
    if (deletes != null) {
      String[] parts = deletes.split("\t", 2);
      String code = parts[0].equals("error") ? "internal-error" : "deletes-" + parts[0];
      all.add(new Reason(code, parts.length > 1 ? parts[1] : ""));
    }
    if (uncovered > 0) {
      String files = uncovered == 1 ? "1 data file" : uncovered + " data files";
      all.add(new Reason("uncovered-files", files));
    }
    Map<String, Object> shown = new LinkedHashMap<>();
    shown.put("table", table == null ? "" : table);
    shown.put("files_total", total);
    shown.put("files_read", read);
    shown.put("uncovered", uncovered);
    if (rows != null) {
      // of the files of which only some rows are read
      shown.put("rows_read", rows.count());
      shown.put("rows_total", rows.records());
    }
    shown.put("indexes", indexes);
    shown.put("reasons", all);
    shown.put("predicate", predicate);
    return shown;
  }
}
