package lakesieve.rule;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import lakesieve.files.CatalogueFiles;
import lakesieve.files.KeepSet;
import lakesieve.files.PathSet;
import org.junit.jupiter.api.Test;

class PythonPlannerTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final byte[] SECRET = new byte[16];
  private static final String NO_SCANS =
      "{\"version\": 2, \"secret\": \"AA==\", \"ticket\": \"t\", \"scans\": []}";

  private final List<String> requests = new ArrayList<>();

  /** A planner that gives these answers, one after another. */
  private PythonPlanner planner(String... answers) {
    return new PythonPlanner(
        request -> {
          requests.add(request);
          return answers[requests.size() - 1];
        });
  }

  private static Map<String, Object> ask(PythonPlanner planner) throws Exception {
    return planner.ask(List.of(Map.of("id", 0)), Map.of("c", new CatalogueFiles(0)), false);
  }

  /** A request has the version, the time and memory it may take, and what is known. */
  @Test
  void requestsAreOfTheProtocol() throws Exception {
    ask(planner(NO_SCANS));
    JsonNode request = JSON.readTree(requests.get(0));
    String expected =
        "{\"version\": 2, \"seconds\": 2.0, \"memory\": 268435456, \"catalogues\": [\"c\"],"
            + " \"scans\": [{\"id\": 0}]}";
    assertEquals(JSON.readTree(expected), request);
    assertEquals(2.0, PythonPlanner.seconds(requests.get(0)));
  }

  /** Only a pruning request waits for storage. */
  @Test
  void secondsOfOtherTexts() {
    assertNull(PythonPlanner.seconds("{\"version\": 2, \"ticket\": \"t\", \"from\": 0}"));
    assertNull(PythonPlanner.seconds("{\"scans\": [{\"seconds\": 5}]}"));
    assertNull(PythonPlanner.seconds("no JSON"));
    assertEquals(5.5, PythonPlanner.seconds("{\"scans\": [{\"seconds\": 1}], \"seconds\": 5.5}"));
  }

  /** A refusal is an exception with its code. */
  @Test
  void refusalsHaveACode() {
    String refusal = "{\"version\": 2, \"refusal\": {\"code\": \"a-code\", \"detail\": \"why\"}}";
    var refused = assertThrows(NoAnswerException.class, () -> ask(planner(refusal)));
    assertEquals("a-code", NoAnswerException.codeOf(refused));
    assertEquals("why", NoAnswerException.detailOf(refused));
  }

  /** An answer of another version, or of none, is not used. */
  @Test
  void answersOfOtherVersions() {
    for (String version : List.of("", "\"version\": 1,", "\"version\": \"2\",")) {
      requests.clear();
      String answer = "{" + version + " \"secret\": \"AA==\", \"scans\": []}";
      var refused = assertThrows(NoAnswerException.class, () -> ask(planner(answer)));
      assertEquals("protocol-mismatch", NoAnswerException.codeOf(refused));
    }
  }

  /** Digests that are not known are fetched in parts, and files that no index lists are kept. */
  @Test
  void digestsAreFetchedInParts() throws Exception {
    String first = "{\"version\": 2, \"digests\": \"" + digests("a", "b") + "\"}";
    String second = "{\"version\": 2, \"digests\": \"" + digests("c") + "\"}";
    Map<String, Object> answer =
        Map.of("ticket", "t", "secret", Base64.getEncoder().encodeToString(SECRET));
    // the second and third of the files
    Map<String, Object> scan =
        Map.of(
            "catalogues", List.of(List.of(List.of("name", 3))),
            "keep", Map.of("index", 0, "keep", "Bg=="));
    Map<String, CatalogueFiles> known = new HashMap<>();
    Map<String, CatalogueFiles> used = new HashMap<>();

    PythonPlanner planner = planner(first, second);
    KeepSet keep = planner.keepSet(answer, scan, false, known, used);

    assertFalse(keep.keeps("a"));
    for (String path : List.of("b", "c", "another")) assertTrue(keep.keeps(path), path);
    assertNull(keep.mark());
    assertEquals(known, used);
    List<Integer> starts = new ArrayList<>();
    for (String request : requests) starts.add(JSON.readTree(request).get("from").intValue());
    assertEquals(List.of(0, 2), starts);
    KeepSet marked = planner.keepSet(answer, scan, true, known, used);
    KeepSet same = planner.keepSet(answer, scan, true, known, used);
    assertEquals(marked.mark(), same.mark());
    assertEquals(2, requests.size());
  }

  private static String digests(String... paths) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    for (String path : paths) bytes.write(PathSet.digest(SECRET, path), 0, 16);
    return Base64.getEncoder().encodeToString(bytes.toByteArray());
  }
}
