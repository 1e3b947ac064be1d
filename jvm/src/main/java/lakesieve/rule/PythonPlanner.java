package lakesieve.rule;

import com.fasterxml.jackson.annotation.JsonFormat;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.BitSet;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.WeakHashMap;
import java.util.function.Function;
import lakesieve.files.CatalogueFiles;
import lakesieve.files.FileGroup;
import lakesieve.files.FileOrdinals;
import lakesieve.files.KeepSet;
import org.apache.spark.sql.catalyst.QueryPlanningTracker;
import org.apache.spark.sql.internal.SQLConf$;
import org.apache.spark.util.Utils;

/**
 * The planner in Python, which knows the indexes and answers which files scans keep.
 *
 * <p>The protocol is specified in {@code docs/design/0030-the-protocol-between-jvm-and-python.md}.
 */
public final class PythonPlanner {
  /** Version of the protocol that this class speaks. */
  public static final int PROTOCOL = 2;

  /** The code for a planner with another version of the protocol. */
  public static final String MISMATCH = "protocol-mismatch";

  /** The setting for the bytes of memory that indexes may take. */
  public static final String MEMORY = "spark.lakesieve.memory";

  // shares of the memory: a quarter and an eighth
  private static final int CATALOGUES = 4;
  private static final int MANIFESTS = 8;

  private static final ObjectMapper JSON = new ObjectMapper();
  private static final TypeReference<Map<String, Object>> OBJECT = new TypeReference<>() {};
  private static final TypeReference<List<List<Catalogue>>> LISTED = new TypeReference<>() {};

  private static final TypeReference<List<FirstRows.FirstValues>> FIRST = new TypeReference<>() {};

  private final Function<String, String> python;
  // by run of the optimizer
  private final Map<QueryPlanningTracker, PlanningTime> times = new WeakHashMap<>();

  private record PruningRequest(
      int version,
      double seconds,
      long memory,
      Collection<String> catalogues,
      List<Map<String, Object>> scans) {}

  private record DigestsRequest(
      int version, String ticket, String catalogue, @JsonProperty("from") int start) {}

  /** Name of a catalogue, and the number of its files. */
  @JsonFormat(shape = JsonFormat.Shape.ARRAY)
  private record Catalogue(String name, int files) {}

  /** Create a planner that forwards each request to a function, which returns the answer. */
  public PythonPlanner(Function<String, String> python) {
    this.python = python;
  }

  /**
   * Ask about scans.
   *
   * @param known catalogues of which nothing need be sent
   * @param ofKeys whether about keys of joins, for which another limit of time holds
   * @throws NoAnswerException when Python refuses to answer
   */
  public Map<String, Object> ask(
      List<Map<String, Object>> scans, Map<String, CatalogueFiles> known, boolean ofKeys)
      throws Exception {
    PlanningTime time = timeOfRun();
    var request =
        new PruningRequest(PROTOCOL, time.remaining(ofKeys), memory(), known.keySet(), scans);
    String json = JSON.writeValueAsString(request);
    long start = System.nanoTime();
    String text = python.apply(json);
    time.took(ofKeys, System.nanoTime() - start);
    return answer(text);
  }

  /**
   * Return the files that a scan keeps.
   *
   * @param answer the whole answer
   * @param scan its part about the scan, which has "keep"
   * @param marked whether the choice does not follow from the table and the filters alone
   * @param known the catalogues that the JVM has already; this method adds those that it fetches
   * @param used gets the catalogues that the scan needs
   */
  public KeepSet keepSet(
      Map<String, Object> answer,
      Map<String, Object> scan,
      boolean marked,
      Map<String, CatalogueFiles> known,
      Map<String, CatalogueFiles> used)
      throws Exception {
    List<List<Catalogue>> listed = JSON.convertValue(scan.get("catalogues"), LISTED);
    CatalogueFiles[][] indexes = indexes(listed, answer, known, used);
    Object keep = scan.get("keep");
    String mark = null;
    if (marked) {
      byte[] choice = JSON.writeValueAsBytes(List.of(listed, keep));
      mark = UUID.nameUUIDFromBytes(choice).toString();
    }
    return new KeepSet(indexes, JSON.convertValue(keep, OBJECT), secret(answer), mark);
  }

  /**
   * The files of an index of which a scan returns every row.
   *
   * @param bits a bit for each file, by the names of the index's catalogues; a file is marked in
   *     one catalogue only
   * @param count the number of marked files
   */
  record LiveFiles(Map<String, String> bits, int count) {}

  /**
   * Return for each index that Python asks about: its files of which the scan returns every row.
   *
   * @param answer the whole answer
   * @param scan its part about the scan, which has "live"
   * @param complete these files of the scan, by digests that begin with the answer's secret
   * @param known the catalogues that the JVM has already; this method adds those that it fetches
   * @param used gets the catalogues that the scan needs
   */
  List<LiveFiles> liveFiles(
      Map<String, Object> answer,
      Map<String, Object> scan,
      List<FileGroup> complete,
      Map<String, CatalogueFiles> known,
      Map<String, CatalogueFiles> used)
      throws Exception {
    List<List<Catalogue>> listed = JSON.convertValue(scan.get("live"), LISTED);
    CatalogueFiles[][] indexes = indexes(listed, answer, known, used);
    List<LiveFiles> live = new ArrayList<>();
    for (int i = 0; i < indexes.length; i++) {
      BitSet[] marks = new BitSet[indexes[i].length];
      Arrays.setAll(marks, j -> new BitSet());
      int count = 0;
      for (FileGroup group : complete) count += group.mark(indexes[i], marks);
      Map<String, String> bits = new LinkedHashMap<>();
      for (int j = 0; j < marks.length; j++) {
        byte[] bytes = Arrays.copyOf(marks[j].toByteArray(), (indexes[i][j].files() + 7) / 8);
        bits.put(listed.get(i).get(j).name(), Base64.getEncoder().encodeToString(bytes));
      }
      live.add(new LiveFiles(bits, count));
    }
    return live;
  }

  /** Return what the answer about a scan says of the first rows of its orders. */
  static List<FirstRows.FirstValues> firstValues(Map<String, Object> scan) {
    Object first = scan.get("first_rows");
    return first == null ? List.of() : JSON.convertValue(first, FIRST);
  }

  private CatalogueFiles[][] indexes(
      List<List<Catalogue>> listed,
      Map<String, Object> answer,
      Map<String, CatalogueFiles> known,
      Map<String, CatalogueFiles> used)
      throws IOException {
    CatalogueFiles[][] indexes = new CatalogueFiles[listed.size()][];
    for (int i = 0; i < indexes.length; i++) {
      List<Catalogue> catalogues = listed.get(i);
      indexes[i] = new CatalogueFiles[catalogues.size()];
      for (int j = 0; j < indexes[i].length; j++) {
        Catalogue catalogue = catalogues.get(j);
        indexes[i][j] = files(catalogue, (String) answer.get("ticket"), known);
        used.put(catalogue.name(), indexes[i][j]);
      }
    }
    return indexes;
  }

  /** Return what the digests of an answer begin with. */
  static byte[] secret(Map<String, Object> answer) {
    return Base64.getDecoder().decode((String) answer.get("secret"));
  }

  /** Keep the catalogues that a request used, as far as they fit. */
  public void remember(Map<String, CatalogueFiles> used) {
    FileOrdinals.remember(used, memory() / CATALOGUES);
  }

  /** Return the bytes that cached manifests may take. */
  public static long roomOfManifests() {
    return memory() / MANIFESTS;
  }

  /**
   * Return the seconds that a request waits for storage, or null for a request that does not wait.
   */
  public static Double seconds(String request) {
    try (JsonParser parser = JSON.createParser(request)) {
      if (parser.nextToken() != JsonToken.START_OBJECT) return null;
      while (parser.nextToken() == JsonToken.FIELD_NAME) {
        boolean isTime = parser.currentName().equals("seconds");
        parser.nextToken();
        if (isTime) return parser.getDoubleValue();
        parser.skipChildren();
      }
      return null;
    } catch (IOException e) {
      return null;
    }
  }

  private PlanningTime timeOfRun() {
    scala.Option<QueryPlanningTracker> run = QueryPlanningTracker.get();
    if (run.isEmpty()) return new PlanningTime();
    synchronized (times) {
      return times.computeIfAbsent(run.get(), ignored -> new PlanningTime());
    }
  }

  /** Return the files of a catalogue, from memory or fetched in parts of bounded size. */
  private CatalogueFiles files(
      Catalogue catalogue, String ticket, Map<String, CatalogueFiles> known) throws IOException {
    CatalogueFiles held = known.get(catalogue.name());
    if (held != null) return held;
    CatalogueFiles files = new CatalogueFiles(catalogue.files());
    while (files.known() < files.files()) {
      var request = new DigestsRequest(PROTOCOL, ticket, catalogue.name(), files.known());
      Map<String, Object> answer = answer(python.apply(JSON.writeValueAsString(request)));
      byte[] digests = Base64.getDecoder().decode((String) answer.get("digests"));
      if (digests.length == 0) throw new IllegalStateException("Python did not send a catalogue");
      files.add(digests);
    }
    known.put(catalogue.name(), files);
    return files;
  }

  private static Map<String, Object> answer(String text) throws IOException {
    if (text == null) throw new IllegalStateException("no answer");
    Map<String, Object> answer = JSON.readValue(text, OBJECT);
    if (!Integer.valueOf(PROTOCOL).equals(answer.get("version"))) {
      String version = "the planner speaks version %s of the protocol, this jar speaks %d";
      throw new NoAnswerException(MISMATCH, version.formatted(answer.get("version"), PROTOCOL));
    }
    if (answer.get("refusal") instanceof Map<?, ?> refusal) {
      String code = String.valueOf(refusal.get("code"));
      throw new NoAnswerException(code, String.valueOf(refusal.get("detail")));
    }
    return answer;
  }

  /** Return the bytes that indexes may take in this process and Python's together. */
  private static long memory() {
    String setting = SQLConf$.MODULE$.get().getConfString(MEMORY, "256m").trim();
    return Math.max(0, Utils.byteStringAsBytes(setting));
  }
}
