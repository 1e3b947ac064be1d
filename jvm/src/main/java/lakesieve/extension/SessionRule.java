package lakesieve.extension;

import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import lakesieve.LakesieveExtensions;
import lakesieve.check.SparkCheck;
import lakesieve.rule.InstalledRule;
import lakesieve.rule.PruningRule;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.slf4j.LoggerFactory;

/** Leaves plans unchanged. At the first plan, it installs the pruning rule in the session. */
public final class SessionRule extends Rule<LogicalPlan> {
  private static final Map<SparkSession, PruningRule> RULES =
      Collections.synchronizedMap(new WeakHashMap<>());

  private final SparkSession session;
  private final String version;
  private final AtomicBoolean done = new AtomicBoolean();

  /** Make it for a session; the version is that of lakesieve. */
  public SessionRule(SparkSession session, String version) {
    this.session = session;
    this.version = version;
  }

  /** The pruning rule that the extension installed in a session, or null. */
  public static PruningRule of(SparkSession session) {
    return RULES.get(session);
  }

  /** The same plan. */
  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    if (done.getAndSet(true)) return plan;
    try {
      install(session, version);
    } catch (Throwable t) { // also errors of classes that cannot be linked
      LoggerFactory.getLogger("lakesieve").warn("no files are skipped in this session: " + t, t);
    }
    return plan;
  }

  /**
   * Make the pruning rule of the extension the only one of a session again. A Python process that
   * was killed cannot take back its own rule.
   */
  public static void restore(SparkSession session) {
    if (!RULES.containsKey(session)) return;
    InstalledRule.forget(session);
    install(session, LakesieveExtensions.version());
  }

  private static void install(SparkSession session, String version) {
    if (!LakesieveExtensions.isTested()) {
      if (SparkCheck.isUnderWay()) return;
      String problem = SparkCheck.problem(session);
      if (problem != null) throw new IllegalStateException(problem);
    }
    var installed = new InstalledRule(session, new SessionPlanner(session, version), null);
    installed.rule().setActive(true);
    RULES.put(session, installed.rule());
    installed.placeForExtension();
  }
}
