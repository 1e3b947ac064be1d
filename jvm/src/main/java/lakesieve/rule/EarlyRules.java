package lakesieve.rule;

import java.util.HashMap;
import java.util.Map;
import java.util.WeakHashMap;
import lakesieve.spark.Extensions;
import lakesieve.spark.PrivateMembers;
import lakesieve.spark.Scala;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import scala.Function1;
import scala.collection.mutable.Buffer;

/**
 * Rules that run right before formats plan their scans, if the optimizer's extensions can be
 * reached. Without them, planning is only as slow as without lakesieve.
 */
public final class EarlyRules {
  // private field of SparkSessionExtensions
  private static final String RULES = "preCBORules";
  private static final Rule<LogicalPlan> NOTHING = new Nothing();
  // rules by name; its monitor guards it
  private static final Map<SparkSession, Map<String, Rule<LogicalPlan>>> SESSIONS =
      new WeakHashMap<>();

  private EarlyRules() {}

  /** Install a rule before all others of this kind in a session. Return whether it succeeded. */
  public static boolean install(SparkSession spark, String name, Rule<LogicalPlan> rule) {
    synchronized (SESSIONS) {
      try {
        Function1<SparkSession, Rule<LogicalPlan>> ofSession = each -> ofSession(each, name);
        Extensions.once(spark, name, extensions -> Scala.putFirst(builders(extensions), ofSession));
        SESSIONS.computeIfAbsent(spark, unknown -> new HashMap<>()).put(name, rule);
        return true;
      } catch (Exception e) {
        return false;
      }
    }
  }

  // the type of the private field
  @SuppressWarnings("unchecked")
  private static Buffer<Object> builders(SparkSessionExtensions extensions) {
    return (Buffer<Object>) PrivateMembers.field(extensions, SparkSessionExtensions.class, RULES);
  }

  /** Return the rule of a session. It does nothing if none was installed. */
  private static Rule<LogicalPlan> ofSession(SparkSession session, String name) {
    synchronized (SESSIONS) {
      return SESSIONS.getOrDefault(session, Map.of()).getOrDefault(name, NOTHING);
    }
  }

  /** Leaves plans unchanged. */
  private static final class Nothing extends Rule<LogicalPlan> {
    @Override
    public LogicalPlan apply(LogicalPlan plan) {
      return plan;
    }
  }
}
