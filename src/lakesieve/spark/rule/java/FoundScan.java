package lakesieve;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * One scan of a plan with the conditions above it. A scan that is changed in place may stand in
 * several places; a leaf that several places share is one scan in each, distinguished by the topmost of
 * the filters and projections right above it.
 */
public final class FoundScan {
  public Object scan;
  public LogicalPlan leaf;
  public LogicalPlan top;
  public ScanAdapter adapter;
  public List places = new ArrayList();
  public Map filter; // its rows of use
  public boolean rewrites; // a command replaces the files that it reads
  public int times = 0; // that it stands in the plan
  public List keys = new ArrayList(); // of joins above its only place
  public List leading; // paths of the columns that indexes begin with, null while unknown
  public Map row; // of the report

  /** Files it reads as pruned so far. */
  public int files() {
    return ((Integer) this.row.get("files_read")).intValue();
  }

  /** Note why it was not pruned by the keys of a join. */
  public void left(String code, String detail) {
    Map reason = new LinkedHashMap();
    reason.put("code", code);
    reason.put("detail", detail);
    List reasons = (List) this.row.get("left");
    if (reasons == null) reasons = new ArrayList();
    if (!reasons.contains(reason)) reasons.add(reason);
    this.row.put("left", reasons);
  }
}
