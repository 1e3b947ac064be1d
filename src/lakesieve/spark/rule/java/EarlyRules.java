package lakesieve;

import java.util.HashMap;
import java.util.Map;
import java.util.WeakHashMap;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import ${sql}.SparkSession;
import scala.runtime.AbstractFunction1;

/**
 * Rules that run right before formats plan their scans, where the optimizer's extensions can be
 * reached; without them all is as slow as before.
 */
public final class EarlyRules {
  // private field of SparkSessionExtensions
  private static final String RULES = "preCBORules";
  private static final Rule NOTHING = new Nothing();
  private static final Map<Object, Map<String, Rule>> SESSIONS = new WeakHashMap<>();
  private static final Map<SparkSessionExtensions, Map<String, Boolean>> EXTENDED =
      new WeakHashMap<>();

  private EarlyRules() {}

  /** Put a rule before all others of that kind of a session; returns whether it could be. */
  public static boolean install(SparkSession spark, String name, Rule rule) {
    synchronized (SESSIONS) {
      try {
        SparkSessionExtensions extensions = spark.extensions();
        Map<String, Boolean> extended = (Map<String, Boolean>) EXTENDED.get(extensions);
        if (extended == null) {
          extended = new HashMap<>();
          EXTENDED.put(extensions, extended);
        }
        if (!extended.containsKey(name)) {
          Object rules = PrivateMembers.field(extensions, SparkSessionExtensions.class, RULES);
          ((scala.collection.mutable.Buffer) rules).$plus$eq$colon(new Builder(name));
          extended.put(name, true);
        }
        Map<String, Rule> own = (Map<String, Rule>) SESSIONS.get(spark);
        if (own == null) {
          own = new HashMap<>();
          SESSIONS.put(spark, own);
        }
        own.put(name, rule);
        return true;
      } catch (Exception e) {
        return false;
      }
    }
  }

  /** Makes the rule of a session for each of its queries. */
  public static final class Builder extends AbstractFunction1 {
    private final String name;

    Builder(String name) {
      this.name = name;
    }

    /** The rule of a session, which does nothing where none was installed. */
    @Override
    public Object apply(Object session) {
      synchronized (SESSIONS) {
        Map<String, Rule> own = (Map<String, Rule>) SESSIONS.get(session);
        Object found = own == null ? null : own.get(this.name);
        return found == null ? NOTHING : found;
      }
    }
  }

  /** Leaves plans as they are. */
  private static final class Nothing extends Rule {
    @Override
    public TreeNode apply(TreeNode plan) {
      return plan;
    }
  }
}
