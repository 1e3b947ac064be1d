package lakesieve.rule;

import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.function.Function;
import lakesieve.deletes.ScanJoins;
import lakesieve.rows.RowRangeStrategy;
import lakesieve.spark.ClassicSessions;
import lakesieve.spark.FirstPlan;
import lakesieve.spark.OwnJar;
import lakesieve.spark.Scala;
import org.apache.spark.sql.ExperimentalMethods;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.SparkStrategy;

/** The pruning rule of a session, which may be in the session's optimizer or not. */
public final class InstalledRule {
  // of each session, the rule whose place was decided last; its monitor guards it
  private static final Map<SparkSession, WeakReference<InstalledRule>> DECIDED =
      new WeakHashMap<>();

  private final SparkSession session;
  private final PruningRule rule;
  // rules that were in the optimizer before, such as the rule of lakesieve's session extension
  private final List<PruningRule> replaced = new ArrayList<>();
  private boolean isPresent;
  private boolean leavesOthers;

  /**
   * Make the rule of a session, for the table formats that the session can read.
   *
   * @param planner answers requests, both as JSON
   * @param joins what replaces scans that need too much memory, or null
   */
  public InstalledRule(SparkSession session, Function<String, String> planner, ScanJoins joins) {
    this.session = session;
    OwnJar.sendToExecutors(session);
    List<ScanAdapter> adapters = Adapters.available();
    this.rule = new PruningRule(planner, adapters, joins);
    for (ScanAdapter adapter : adapters) adapter.install(session, rule);
  }

  /** The rule. */
  public PruningRule rule() {
    return rule;
  }

  /**
   * Install the rule in the optimizer in place of other pruning rules, or remove it. In a session
   * that has planned nothing yet, this happens before the first plan.
   *
   * @param present whether it is to be there
   * @param others whether the other pruning rules come back when it is taken out
   */
  public void place(boolean present, boolean others) {
    FirstPlan.before(session, () -> placeNow(present, others));
  }

  private synchronized void placeNow(boolean present, boolean others) {
    isPresent = present;
    leavesOthers = others;
    synchronized (DECIDED) {
      DECIDED.put(session, new WeakReference<>(this));
    }
    List<Rule<LogicalPlan>> rules = new ArrayList<>();
    for (Rule<LogicalPlan> known : rulesOfSession()) {
      if (known == rule) continue;
      if (known instanceof PruningRule other) {
        replaced.add(other);
      } else {
        rules.add(known);
      }
    }
    boolean back = !present && others;
    for (PruningRule other : replaced) other.setActive(back);
    if (present) rules.add(rule);
    if (back) {
      rules.addAll(replaced);
      replaced.clear();
    }
    setRules(rules);
    setStrategy(rules.stream().anyMatch(PruningRule.class::isInstance));
  }

  /**
   * Install the rule of lakesieve's session extension in the optimizer, in place of rules that the
   * session inherited from another session. What was decided for this session stays.
   */
  public void placeForExtension() {
    List<Rule<LogicalPlan>> rules = new ArrayList<>(rulesOfSession());
    // the rule of the other session stays active in that session
    rules.removeIf(PruningRule.class::isInstance);
    rules.add(rule);
    setRules(rules);
    setStrategy(true);
    InstalledRule decided = decided(session);
    if (decided != null) decided.placeNow(decided.isPresent, decided.leavesOthers);
  }

  /** Forget where the rule of a session was placed, because its Python process has ended. */
  public static void forget(SparkSession session) {
    synchronized (DECIDED) {
      DECIDED.remove(session);
    }
  }

  private static InstalledRule decided(SparkSession session) {
    synchronized (DECIDED) {
      WeakReference<InstalledRule> decided = DECIDED.get(session);
      return decided == null ? null : decided.get();
    }
  }

  private List<Rule<LogicalPlan>> rulesOfSession() {
    return Scala.list(ClassicSessions.experimental(session).extraOptimizations());
  }

  /** Plan scans that read only some rows of their files, or leave them to Spark's strategies. */
  private void setStrategy(boolean present) {
    ExperimentalMethods methods = ClassicSessions.experimental(session);
    List<SparkStrategy> strategies = new ArrayList<>(Scala.list(methods.extraStrategies()));
    strategies.removeIf(RowRangeStrategy.class::isInstance);
    if (present) strategies.add(0, new RowRangeStrategy());
    methods.extraStrategies_$eq(Scala.seq(strategies));
  }

  private void setRules(List<Rule<LogicalPlan>> rules) {
    ClassicSessions.experimental(session).extraOptimizations_$eq(Scala.seq(rules));
  }
}
