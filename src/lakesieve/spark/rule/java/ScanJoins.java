package lakesieve;

import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** Replaces scans that need too much memory. */
public interface ScanJoins {
  /**
   * Replace what is too large in a plan.
   *
   * @param scans those in it
   * @param outcomes scan to text: gets an entry for each scan that is too large, with the prefix
   *     "joined", "left" or "error" and a tab before the sentence
   * @param known gets the scans of the joins
   */
  LogicalPlan apply(
      LogicalPlan plan, List<FoundScan> scans, Map<Object, String> outcomes, IdentitySet known);
}
