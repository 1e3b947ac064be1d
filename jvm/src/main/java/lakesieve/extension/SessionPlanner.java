package lakesieve.extension;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.lang.ref.WeakReference;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import lakesieve.rule.NoAnswerException;
import lakesieve.rule.PythonPlanner;
import lakesieve.spark.ClassicSessions;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.SQLConf$;

/** Sends the rule's requests to the companion process, for one session. */
public final class SessionPlanner implements Function<String, String> {
  private static final String LOCATIONS = "spark.lakesieve.locations";
  private static final String TRUSTED = "spark.lakesieve.trusted.roots";
  // the prefixes of lakesieve.storage.HADOOP_PREFIXES
  private static final List<String> HADOOP =
      List.of(
          "fs.s3a.",
          "fs.azure.",
          "fs.gs.",
          "google.cloud.auth.",
          "dfs.ha.namenodes.",
          "dfs.namenode.rpc-address.",
          "dfs.client.failover.",
          "dfs.client.socket-timeout",
          "dfs.client.use.datanode.hostname",
          "dfs.data.transfer.protection",
          "hadoop.security.authentication");
  private static final ObjectMapper JSON = new ObjectMapper();
  // extra time, beyond the limit that Python enforces itself
  private static final long MORE_MILLIS = 1000;
  private static final long DIGESTS_MILLIS = 10_000;
  // Hadoop has many settings, and they seldom change
  private static final long KNOWN_NANOS = TimeUnit.SECONDS.toNanos(30);

  /** The settings of lakesieve that a user may change in the session. */
  private record Chosen(String locations, String trusted) {
    static Chosen of(SQLConf conf) {
      return new Chosen(conf.getConfString(LOCATIONS, ""), conf.getConfString(TRUSTED, ""));
    }
  }

  private final String name = UUID.randomUUID().toString();
  private final String version;
  // weak, because what is stored by session must not keep the session alive
  private final WeakReference<SparkSession> session;
  // the settings that the process has, and when Hadoop's settings were read for it
  private CompanionProcess process;
  private Chosen chosen;
  private String document = "";
  private long read = 0;

  /** Make a planner for a session; the version is that of lakesieve. */
  public SessionPlanner(SparkSession session, String version) {
    this.session = new WeakReference<>(session);
    this.version = version;
  }

  /** Answer a request. */
  @Override
  public String apply(String request) {
    CompanionProcess companion = Companion.process(Companion.python(), version);
    open(companion, Chosen.of(SQLConf$.MODULE$.get()));
    return companion.ask(name + "\n" + request, millis(request));
  }

  /** Send the settings of the session to a process, unless it has them already. */
  private synchronized void open(CompanionProcess companion, Chosen now) {
    boolean isOld = System.nanoTime() - read > KNOWN_NANOS;
    String next = isOld || !now.equals(chosen) ? document(now) : document;
    boolean isKnown = next.equals(document) && companion == process;
    chosen = now;
    document = next;
    process = companion;
    if (!isKnown) companion.send(CompanionProcess.OPEN, name + "\n" + next);
  }

  private String document(Chosen now) {
    Map<String, Object> settings = new LinkedHashMap<>();
    settings.put("locations", now.locations());
    settings.put("trusted", now.trusted());
    SparkSession spark = session.get();
    if (spark != null) settings.put("hadoop", hadoop(spark));
    read = System.nanoTime();
    try {
      return JSON.writeValueAsString(settings);
    } catch (JsonProcessingException e) {
      throw new NoAnswerException("internal-error", "settings: " + e);
    }
  }

  /** The Hadoop settings that reach storage, sorted by name. */
  private static Map<String, String> hadoop(SparkSession spark) {
    Map<String, String> settings = new TreeMap<>();
    for (String prefix : HADOOP) {
      Configuration conf = ClassicSessions.state(spark).newHadoopConf();
      conf.getPropsWithPrefix(prefix).forEach((key, value) -> settings.put(prefix + key, value));
    }
    return settings;
  }

  private static long millis(String request) {
    Double seconds = PythonPlanner.seconds(request);
    if (seconds == null) return DIGESTS_MILLIS;
    return (long) (seconds * 1000) + MORE_MILLIS;
  }
}
