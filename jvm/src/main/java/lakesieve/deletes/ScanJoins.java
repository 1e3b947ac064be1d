package lakesieve.deletes;

import java.util.List;
import java.util.Map;
import lakesieve.files.IdentitySet;
import lakesieve.rule.FoundScan;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** Replaces scans whose deletes need too much memory. */
public interface ScanJoins {
  /**
   * Replace the scans of a plan that need too much memory, if a join can replace them.
   *
   * @param scans all scans of the plan
   * @param outcomes receives a text for each scan that needs too much memory: "joined", "left" or
   *     "error", a tab, and a sentence
   * @param known receives the scans in the joins
   */
  LogicalPlan apply(
      LogicalPlan plan, List<FoundScan> scans, Map<Object, String> outcomes, IdentitySet known);
}
