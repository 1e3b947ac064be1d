package lakesieve.deletes;

import java.util.List;
import java.util.Map;
import lakesieve.files.IdentitySet;
import lakesieve.rule.FoundScan;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** Replaces scans that need too much memory. */
public interface ScanJoins {
  /**
   * Replace the scans of a plan that are too large.
   *
   * @param scans all scans of the plan
   * @param outcomes scan to text: gets an entry for each scan that is too large, with the prefix
   *     "joined", "left" or "error" and a tab before the sentence
   * @param known gets the scans of the joins
   */
  LogicalPlan apply(
      LogicalPlan plan, List<FoundScan> scans, Map<Object, String> outcomes, IdentitySet known);
}
