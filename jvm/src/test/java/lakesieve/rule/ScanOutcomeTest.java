package lakesieve.rule;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What the report and Spark's UI say of scans. */
class ScanOutcomeTest {
  /** All that there is to say of a scan is among its reasons, each thing once. */
  @Test
  void reasonsAreReportedInOrder() throws Exception {
    ScanOutcome scan = new ScanOutcome("db.t", 10, 10);
    scan.answered(List.of("k"), List.of(Map.of("code", "no-index", "detail", "of c")), "k = 1");
    scan.skipped("join-too-large", "more rows");
    scan.skipped("join-too-large", "more rows");
    scan.refusal = "a stream";
    scan.deletes = "left\ta command";
    scan.read = 3;
    scan.uncovered = 1;

    JsonNode row = new ObjectMapper().readTree(ScanReport.json(List.of(scan))).get(0);

    assertEquals(
        List.of(
            "no-index: of c",
            "join-too-large: more rows",
            "scan-unsupported: a stream",
            "deletes-left: a command",
            "uncovered-files: 1 data file"),
        reasons(row));
    assertEquals("db.t", row.get("table").textValue());
    assertEquals(10, row.get("files_total").intValue());
    assertEquals(3, row.get("files_read").intValue());
    assertEquals(1, row.get("uncovered").intValue());
    assertEquals("[\"k\"]", row.get("indexes").toString());
    assertEquals("k = 1", row.get("predicate").textValue());
  }

  /** Where no scan was looked at, the report has one row, without a table, that says why. */
  @Test
  void aReportSaysWhyNoScanWasLookedAt() {
    assertEquals(
        "[{\"table\":\"\",\"files_total\":0,\"files_read\":0,\"uncovered\":0,\"indexes\":[],"
            + "\"reasons\":[{\"code\":\"internal-error\","
            + "\"detail\":\"broken\"}],\"predicate\":\"\"}]",
        ScanReport.withoutScan("internal-error", "broken"));
  }

  /** Spark's UI names the first scans that skip files, and no others. */
  @Test
  void jobsNameScansThatSkipFiles() {
    ScanOutcome whole = new ScanOutcome("all", 7, 7);
    ScanOutcome pruned = new ScanOutcome("t", 10, 10);
    pruned.answered(List.of("a", "b"), null, null);
    pruned.read = 2;

    assertNull(JobNotes.text(List.of(whole)));
    String once = "2 of 10 data files of t (index a, b)";
    assertEquals("lakesieve reads " + once, JobNotes.text(List.of(whole, pruned)));
    String five = String.join("; ", Collections.nCopies(5, once));
    assertEquals(
        "lakesieve reads " + five + "; and more", JobNotes.text(Collections.nCopies(6, pruned)));
  }

  private static List<String> reasons(JsonNode row) {
    List<String> texts = new ArrayList<>();
    for (JsonNode reason : row.get("reasons")) {
      texts.add(reason.get("code").textValue() + ": " + reason.get("detail").textValue());
    }
    return texts;
  }
}
