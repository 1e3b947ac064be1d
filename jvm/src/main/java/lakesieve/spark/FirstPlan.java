package lakesieve.spark;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.slf4j.LoggerFactory;

/**
 * Changes to a session that need its state. Spark makes the state when it is first needed, and
 * takes a third of a second. So the changes of a session without a state wait for its first plan.
 */
public final class FirstPlan {
  // changes that wait, in their order; its monitor guards it
  private static final Map<SparkSession, List<Runnable>> WAITING = new WeakHashMap<>();

  private FirstPlan() {}

  /** Make a change now, or before the first plan is analyzed if the session has no state yet. */
  public static void before(SparkSession session, Runnable change) {
    synchronized (WAITING) {
      WAITING.computeIfAbsent(session, unknown -> new ArrayList<>()).add(change);
    }
    if (!ClassicSessions.hasState(session)) {
      Extensions.once(
          session, "first plan", extensions -> extensions.injectResolutionRule(Changes::new));
    }
    // another thread may have made the state without the rule
    if (ClassicSessions.hasState(session)) makeChanges(session);
  }

  private static void makeChanges(SparkSession session) {
    synchronized (WAITING) {
      List<Runnable> changes = WAITING.remove(session);
      if (changes != null) changes.forEach(Runnable::run);
    }
  }

  /** Leaves plans unchanged. */
  private static final class Changes extends Rule<LogicalPlan> {
    private final SparkSession session;

    Changes(SparkSession session) {
      this.session = session;
    }

    @Override
    public LogicalPlan apply(LogicalPlan plan) {
      try {
        makeChanges(session);
      } catch (RuntimeException e) {
        LoggerFactory.getLogger("lakesieve").warn("no files are skipped in this session: " + e, e);
      }
      return plan;
    }
  }
}
