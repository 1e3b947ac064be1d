package lakesieve;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
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
 * Python, which knows indexes, as the rule asks it which files scans keep.
 *
 * <p>Protocol, JSON both ways. Request: {"seconds": to wait for storage, "memory": in bytes,
 * "catalogues": [known], "scans": [{"id", "format", "table", "uuid", "location", "snapshot", "schema",
 * "filter", and "keys" of joins}]}. Answer: {"secret" of the digests, "ticket", "scans": [{"id",
 * "catalogues" ([name, files] of each, by index) and "keep" (see {@link KeepSet}) or neither,
 * "indexes", "leading" columns of those, "reasons", "late" when it did not come in time}]}. Then for
 * each part of a catalogue that is not known: {"ticket", "catalogue", "from": files that are there},
 * answered by digests of the next files in base64.
 */
public final class PythonPlanner {
  public static final String MEMORY = "spark.lakesieve.memory";
  private static final int JVM_SHARE = 4;

  private final Function python;
  private final ObjectMapper json = new ObjectMapper();
  private final WeakHashMap times = new WeakHashMap(); // by run of the optimizer

  public PythonPlanner(Function python) {
    this.python = python;
  }

  /**
   * Ask about scans.
   *
   * @param known catalogues of which nothing need be sent
   * @param ofKeys whether about keys of joins, which have a time of their own
   */
  public Map ask(List scans, Map known, boolean ofKeys) throws Exception {
    PlanningTime time = timeOfRun();
    Map request = new LinkedHashMap();
    request.put("seconds", Double.valueOf(time.left(ofKeys)));
    request.put("memory", Long.valueOf(memory()));
    request.put("catalogues", new ArrayList(known.keySet()));
    request.put("scans", scans);
    long start = System.nanoTime();
    String text = (String) this.python.apply(this.json.writeValueAsString(request));
    time.took(ofKeys, System.nanoTime() - start);
    if (text == null) throw new IllegalStateException("no answer");
    return (Map) this.json.readValue(text, Map.class);
  }

  /**
   * What a scan keeps, by its part of an answer.
   *
   * @param answer the whole of it
   * @param scan that part, which has "keep"
   * @param marked whether the choice does not follow from the table and the filters alone
   * @param known catalogues that are there; gets those that are fetched
   * @param used gets the catalogues that it needs
   */
  public KeepSet keepSet(Map answer, Map scan, boolean marked, Map known, Map used) throws Exception {
    List listed = (List) scan.get("catalogues");
    CatalogueFiles[][] indexes = new CatalogueFiles[listed.size()][];
    for (int i = 0; i < indexes.length; i++) {
      List names = (List) listed.get(i);
      indexes[i] = new CatalogueFiles[names.size()];
      for (int j = 0; j < indexes[i].length; j++) {
        indexes[i][j] = catalogue((List) names.get(j), (String) answer.get("ticket"), known);
        used.put(((List) names.get(j)).get(0), indexes[i][j]);
      }
    }
    String mark = null;
    if (marked) {
      List choice = new ArrayList();
      choice.add(listed);
      choice.add(scan.get("keep"));
      mark = UUID.nameUUIDFromBytes(this.json.writeValueAsBytes(choice)).toString();
    }
    byte[] secret = Base64.getDecoder().decode((String) answer.get("secret"));
    return new KeepSet(indexes, (Map) scan.get("keep"), secret, mark);
  }

  /** Keep the catalogues that a request used, as far as there is room. */
  public void remember(Map used) {
    FileOrdinals.remember(used, memory() / JVM_SHARE);
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

  /** One that is known, or fetched in parts of bounded size. */
  private CatalogueFiles catalogue(List entry, String ticket, Map known) throws Exception {
    CatalogueFiles files = (CatalogueFiles) known.get(entry.get(0));
    if (files != null) return files;
    files = new CatalogueFiles(((Number) entry.get(1)).intValue());
    while (files.known() < files.files()) {
      Map request = new LinkedHashMap();
      request.put("ticket", ticket);
      request.put("catalogue", entry.get(0));
      request.put("from", Integer.valueOf(files.known()));
      String text = (String) this.python.apply(this.json.writeValueAsString(request));
      if (text == null || text.length() == 0) throw new IllegalStateException("a catalogue was not sent");
      files.add(Base64.getDecoder().decode(text));
    }
    known.put(entry.get(0), files);
    return files;
  }

  /** Bytes that this process and Python's may hold of indexes together. */
  private static long memory() {
    return JavaUtils.byteStringAsBytes(SQLConf$.MODULE$.get().getConfString(MEMORY, "256m").trim());
  }
}
