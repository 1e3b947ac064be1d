package lakesieve;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * One scan of a plan with the conditions above it. A scan that is changed in place may stand in
 * several places; a leaf that several places share is one scan in each, told apart by the topmost of
 * the filters and projections right above it.
 */
public final class FoundScan {
  public Object scan;
  public LogicalPlan leaf;
  public LogicalPlan top;
  public ScanAdapter adapter;
  public List places = new ArrayList();
}
