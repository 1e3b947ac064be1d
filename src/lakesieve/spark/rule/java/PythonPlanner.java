package lakesieve;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.WeakHashMap;
import java.util.function.Function;
import org.apache.spark.network.util.JavaUtils;
import org.apache.spark.sql.catalyst.QueryPlanningTracker;
import org.apache.spark.sql.internal.SQLConf$;

/**
 * The way to Python, which knows the indexes and answers which files scans keep.
 *
 * <p>Protocol, JSON both ways. Request: {"seconds": to wait for storage, "memory": in bytes,
 * "catalogues": [known], "scans": [{"id", "format", "table", "uuid", "location", "snapshot", "schema",
 * "filter", and "keys" of joins or what is "given" already}]}. Answer: {"secret" of the digests, "ticket", "scans": [{"id",
 * "catalogues" ([name, files] of each, by index) and "keep" (see {@link KeepSet}) or neither,
 * "indexes", "leading" columns of those, "reasons", "late" when it did not come in time}]}. Then for
 * each part of a catalogue that is not known: {"ticket", "catalogue", "from": number of files so far},
 * answered by digests of the next files in base64.
 */
public final class PythonPlanner {
  /** The setting for the bytes that indexes may take in memory. */
  public static final String MEMORY = "spark.lakesieve.memory";
  // parts of the memory: a quarter and an eighth
  private static final int CATALOGUES = 4;
  private static final int MANIFESTS = 8;

  private final Function<String, String> python;
  private final ObjectMapper json = new ObjectMapper();
  // by run of the optimizer
  private final Map<Object, PlanningTime> times = new WeakHashMap<>();

  /** Make it of the function that takes a request and returns the answer. */
  public PythonPlanner(Function<String, String> python) {
    this.python = python;
  }

  /**
   * Ask about scans.
   *
   * @param known catalogues of which nothing need be sent
   * @param ofKeys whether about keys of joins, for which another limit of time holds
   */
  public Map<String, Object> ask(
      List<Map<String, Object>> scans, Map<String, CatalogueFiles> known, boolean ofKeys)
      throws Exception {
    PlanningTime time = timeOfRun();
    Map<String, Object> request = new LinkedHashMap<>();
    request.put("seconds", time.remaining(ofKeys));
    request.put("memory", memory());
    request.put("catalogues", new ArrayList<>(known.keySet()));
    request.put("scans", scans);
    long start = System.nanoTime();
    String text = (String) this.python.apply(this.json.writeValueAsString(request));
    time.took(ofKeys, System.nanoTime() - start);
    if (text == null) throw new IllegalStateException("no answer");
    return (Map<String, Object>) this.json.readValue(text, Map.class);
  }

  /**
   * What a scan keeps, by its part of an answer.
   *
   * @param answer the whole of it
   * @param scan that part, which has "keep"
   * @param marked whether the choice does not follow from the table and the filters alone
   * @param known catalogues that need not be fetched; gets those that are fetched
   * @param used gets the catalogues that it needs
   */
  public KeepSet keepSet(
      Map<String, Object> answer,
      Map<String, Object> scan,
      boolean marked,
      Map<String, CatalogueFiles> known,
      Map<String, CatalogueFiles> used)
      throws Exception {
    List<List<Object>> listed = (List<List<Object>>) scan.get("catalogues");
    CatalogueFiles[][] indexes = new CatalogueFiles[listed.size()][];
    for (int i = 0; i < indexes.length; i++) {
      List<Object> entries = (List<Object>) listed.get(i);
      indexes[i] = new CatalogueFiles[entries.size()];
      for (int j = 0; j < indexes[i].length; j++) {
        List<Object> entry = (List<Object>) entries.get(j);
        indexes[i][j] = catalogue(entry, (String) answer.get("ticket"), known);
        used.put((String) entry.get(0), indexes[i][j]);
      }
    }
    String mark = null;
    if (marked) {
      List<Object> choice = Arrays.asList(listed, scan.get("keep"));
      mark = UUID.nameUUIDFromBytes(this.json.writeValueAsBytes(choice)).toString();
    }
    byte[] secret = Base64.getDecoder().decode((String) answer.get("secret"));
    return new KeepSet(indexes, (Map<String, Object>) scan.get("keep"), secret, mark);
  }

  /** Keep the catalogues that a request used, as far as there is room. */
  public void remember(Map<String, CatalogueFiles> used) {
    FileOrdinals.remember(used, memory() / CATALOGUES);
  }

  /** Bytes that what is known of manifests may take. */
  public static long roomOfManifests() {
    return memory() / MANIFESTS;
  }

  private PlanningTime timeOfRun() {
    scala.Option run = QueryPlanningTracker.get();
    if (!run.isDefined()) return new PlanningTime();
    synchronized (this.times) {
      PlanningTime time = (PlanningTime) this.times.get(run.get());
      if (time == null) {
        time = new PlanningTime();
        this.times.put(run.get(), time);
      }
      return time;
    }
  }

  /** The catalogue of an entry, known or fetched in parts of bounded size. */
  private CatalogueFiles catalogue(
      List<Object> entry, String ticket, Map<String, CatalogueFiles> known) throws Exception {
    String name = (String) entry.get(0);
    CatalogueFiles files = (CatalogueFiles) known.get(name);
    if (files != null) return files;
    files = new CatalogueFiles(((Number) entry.get(1)).intValue());
    while (files.known() < files.files()) {
      Map<String, Object> request = new LinkedHashMap<>();
      request.put("ticket", ticket);
      request.put("catalogue", name);
      request.put("from", files.known());
      String text = (String) this.python.apply(this.json.writeValueAsString(request));
      if (text == null || text.isEmpty()) throw new IllegalStateException("a catalogue was not sent");
      files.add(Base64.getDecoder().decode(text));
    }
    known.put(name, files);
    return files;
  }

  /** Bytes of indexes that this process and Python's may hold together. */
  private static long memory() {
    return JavaUtils.byteStringAsBytes(SQLConf$.MODULE$.get().getConfString(MEMORY, "256m").trim());
  }
}
