package lakesieve.statements;

import org.apache.spark.sql.catalyst.analysis.ResolvedTable;
import org.apache.spark.sql.catalyst.plans.logical.DropIndex;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.connector.catalog.index.SupportsIndex;

/** Tells which plans are about indexes that another system manages. */
final class OtherIndexes {
  private OtherIndexes() {}

  /** Return whether an analyzed plan can be run without lakesieve. */
  static boolean manages(LogicalPlan plan) {
    if (!plan.resolved()) return false;
    if (!(plan instanceof DropIndex drop)) return true;
    return drop.table() instanceof ResolvedTable table && table.table() instanceof SupportsIndex;
  }
}
