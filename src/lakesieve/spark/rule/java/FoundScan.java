package lakesieve;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * One scan of a plan with the conditions above it. A scan that is changed in place may occur several
 * times in the plan; a leaf that occurs several times is one scan in each occurrence, distinguished
 * by the topmost of the filters and projections right above it.
 */
public final class FoundScan {
  /** The scan as its adapter knows it. */
  public Object scan;
  /** The leaf of the plan that it is read by. */
  public LogicalPlan leaf;
  /** The topmost of the filters and projections right above the leaf, or the leaf itself. */
  public LogicalPlan top;
  /** What knows its format. */
  public ScanAdapter adapter;
  /** The conditions above each occurrence. */
  public List<Map<String, Object>> conditions = new ArrayList<>();
  /** The conditions right above its first occurrence, as Spark has them. */
  public List<Expression> above;
  /** The condition on the rows that are of use. */
  public Map<String, Object> filter;
  /** Whether a command replaces the files that it reads. */
  public boolean rewrites;
  /** How many times it occurs in the plan. */
  public int times = 0;
  /** Keys of joins above its only occurrence, as conditions. */
  public List<Map<String, Object>> keys = new ArrayList<>();
  /** Paths of the columns that indexes begin with, null while unknown. */
  public List<List<String>> leading;
  /** Its row of the report. */
  public Map<String, Object> row;

  /** Number of files that it reads, as pruned so far. */
  public int files() {
    return (Integer) this.row.get("files_read");
  }

  /** Add a reason why it was not pruned, or not by the keys of a join, to the report. */
  public void skipped(String code, String detail) {
    Map<String, Object> reason = new LinkedHashMap<>();
    reason.put("code", code);
    reason.put("detail", detail);
    List<Object> reasons = (List<Object>) this.row.get("left");
    if (reasons == null) reasons = new ArrayList<>();
    if (!reasons.contains(reason)) reasons.add(reason);
    this.row.put("left", reasons);
  }
}
