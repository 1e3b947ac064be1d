package lakesieve;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.lang.ref.WeakReference;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.function.Function;
import org.apache.spark.SparkEnv$;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.SQLConf$;
import ${sql}.SparkSession;

/** The rule's way to the companion process, for one session. */
public final class SessionPlanner implements Function<String, String> {
  private static final String PYTHON = "spark.lakesieve.python";
  private static final String LOCATIONS = "spark.lakesieve.locations";
  private static final String TRUSTED = "spark.lakesieve.trusted.roots";
  private static final String[] HADOOP = {"fs.s3a.", "fs.azure.", "fs.gs.", "google.cloud.auth."};
  private static final String BEGIN = "{\"seconds\":";
  // beyond the time that the answer itself takes care of
  private static final long MORE_MILLIS = 1000;
  private static final long DIGESTS_MILLIS = 10_000;
  // Hadoop's settings are many, and seldom change
  private static final long KNOWN_NANOS = 30_000_000_000L;

  private final String name = UUID.randomUUID().toString();
  private final String version;
  // what is kept by session must not keep it
  private final WeakReference<SparkSession> session;
  private final ObjectMapper json = new ObjectMapper();
  private CompanionProcess process;
  private String settings = "";
  private String chosen = "";
  private long read = 0;

  /** Make it for a session; the version is that of lakesieve. */
  public SessionPlanner(SparkSession session, String version) {
    this.session = new WeakReference<>(session);
    this.version = version;
  }

  /** Answer a request. */
  @Override
  public Object apply(Object request) {
    // not a session's: who may send queries may not start programs
    String python = SparkEnv$.MODULE$.get().conf().get(PYTHON, "python3").trim();
    CompanionProcess companion = Companion.process(python, this.version);
    open(companion, SQLConf$.MODULE$.get());
    return companion.ask(this.name + "\n" + request, millis((String) request));
  }

  private synchronized void open(CompanionProcess companion, SQLConf conf) {
    String now = conf.getConfString(LOCATIONS, "") + "\n" + conf.getConfString(TRUSTED, "");
    boolean isOld = System.nanoTime() - this.read > KNOWN_NANOS;
    String document = this.settings;
    if (isOld || this.settings.isEmpty() || !now.equals(this.chosen)) document = document(conf);
    boolean isSame = document.equals(this.settings) && companion == this.process;
    this.chosen = now;
    this.settings = document;
    this.process = companion;
    if (!isSame) companion.send(CompanionProcess.OPEN, this.name + "\n" + document);
  }

  private String document(SQLConf conf) {
    Map<String, Object> document = new LinkedHashMap<>();
    document.put("locations", conf.getConfString(LOCATIONS, ""));
    document.put("trusted", conf.getConfString(TRUSTED, ""));
    SparkSession spark = (SparkSession) this.session.get();
    if (spark != null) {
      Map<String, String> hadoop = new TreeMap<>();
      for (String prefix : HADOOP) {
        Map<String, String> found =
            spark.sessionState().newHadoopConf().getPropsWithPrefix(prefix);
        for (Map.Entry<String, String> e : found.entrySet()) {
          hadoop.put(prefix + e.getKey(), (String) e.getValue());
        }
      }
      document.put("hadoop", hadoop);
    }
    this.read = System.nanoTime();
    try {
      return this.json.writeValueAsString(document);
    } catch (Exception e) {
      throw new NoAnswerException("internal-error", "settings: " + e);
    }
  }

  private static long millis(String request) {
    if (!request.startsWith(BEGIN)) return DIGESTS_MILLIS;
    double seconds = Double.parseDouble(request.substring(BEGIN.length(), request.indexOf(',')));
    return (long) (seconds * 1000) + MORE_MILLIS;
  }
}
