package lakesieve;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkContext$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.SQLExecution$;
import scala.Option;

/**
 * What the latest query or command did, one row a scan. A command may run several queries; what they
 * did is told together.
 */
public final class ScanReport {
  private static final int ROWS = 100;
  // those that may be done without a scan
  private static final List CHANGES =
      Arrays.asList(
          new Object[] {
            "DeleteFromTable", "DeleteFromTableWithFilters", "ReplaceData", "WriteDelta",
            "DeleteCommand", "UpdateCommand", "MergeIntoCommand",
            "DeleteHoodieTableCommand", "UpdateHoodieTableCommand", "MergeIntoHoodieTableCommand"
          });

  private final ObjectMapper json = new ObjectMapper();
  private List rows = new ArrayList();
  private String command;
  private volatile String text = "[]";

  public String text() {
    return this.text;
  }

  /** Forget what was before a command that changes rows. */
  public synchronized void begin(LogicalPlan plan) {
    String now = running();
    if (now == null || now.equals(this.command)) return;
    if (!CHANGES.contains(plan.getClass().getSimpleName())) return;
    clear();
    this.command = now;
  }

  public synchronized void clear() {
    this.rows = new ArrayList();
    this.command = null;
    this.text = "[]";
  }

  /** Tell of some scans, of which some may have been told of before. */
  public synchronized void tell(List told) {
    String now = running();
    boolean known = told.size() > 0 && has(told.get(0));
    if (!known && (now == null || !now.equals(this.command))) this.rows = new ArrayList();
    this.command = now;
    for (int i = 0; i < told.size() && this.rows.size() < ROWS; i++) {
      if (!has(told.get(i))) this.rows.add(told.get(i));
    }
    try {
      this.text = this.json.writeValueAsString(this.rows);
    } catch (Exception e) {
      this.text = "[{\"error\": \"report failed\"}]";
    }
  }

  private boolean has(Object row) {
    for (int i = 0; i < this.rows.size(); i++) {
      if (this.rows.get(i) == row) return true;
    }
    return false;
  }

  /** What the queries of one command have in common, or null outside of any. */
  private static String running() {
    Option context = SparkContext$.MODULE$.getActive();
    if (!context.isDefined()) return null;
    String key = SQLExecution$.MODULE$.EXECUTION_ROOT_ID_KEY();
    return ((SparkContext) context.get()).getLocalProperty(key);
  }
}
