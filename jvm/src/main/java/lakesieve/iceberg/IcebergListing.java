package lakesieve.iceberg;

import lakesieve.rule.EarlyRules;
import lakesieve.rule.PruningRule;
import lakesieve.rule.ScanSearch;
import lakesieve.spark.Scala;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotSummary;
import org.apache.iceberg.Table;
import org.apache.iceberg.spark.source.SparkTable;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Subquery;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.V2ScanRelationPushDown;
import org.apache.spark.sql.internal.SQLConf;

/**
 * Makes the scans of Iceberg tables with very many files slightly earlier than Spark, and prunes
 * them before Iceberg plans them. So manifests without a file to read are not read either.
 *
 * <p>Spark makes the scans with the same rule in the next batch of its optimizer. Right after that,
 * in the same batch, it lets Iceberg plan them.
 */
public final class IcebergListing extends Rule<LogicalPlan> {
  /** The setting for the number of data files from which on a table counts as very large. */
  public static final String MANY_FILES = "spark.lakesieve.iceberg.manyFiles";

  private static final String DEFAULT = "5000";

  private final PruningRule rule;
  private final IcebergScans scans;

  IcebergListing(PruningRule rule, IcebergScans scans) {
    this.rule = rule;
    this.scans = scans;
  }

  /** Install the rule in a session with the pruning rule. Return whether it succeeded. */
  static boolean install(SparkSession spark, PruningRule rule, IcebergScans scans) {
    return EarlyRules.install(spark, "iceberg", new IcebergListing(rule, scans));
  }

  /** The plan with its scans made and pruned, if one of them may have very many files. */
  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    // Spark plans the scans of commands again, and visits subqueries again in the outer plan
    if (!rule.prunes() || plan instanceof Subquery || plan instanceof V2WriteCommand) return plan;
    try {
      long many = Long.parseLong(SQLConf.get().getConfString(MANY_FILES, DEFAULT).trim());
      if (!hasMany(plan, many, 0)) return plan;
      LogicalPlan made = V2ScanRelationPushDown.apply(plan);
      rule.pruneEarly(made, scans);
      return made;
    } catch (Exception e) {
      return plan; // Spark reports the problem, if there is one
    }
  }

  private static boolean hasMany(LogicalPlan plan, long many, int depth) {
    if (depth > ScanSearch.DEEPEST_PLAN) throw new IllegalStateException("plan too deep");
    if (plan instanceof DataSourceV2Relation relation) {
      return relation.table() instanceof SparkTable spark && files(spark.table()) >= many;
    }
    for (LogicalPlan child : Scala.list(plan.children())) {
      if (hasMany(child, many, depth + 1)) return true;
    }
    return false;
  }

  /** Number of data files that the table's current version states, or 0 if it does not. */
  private static long files(Table table) {
    Snapshot snapshot = table.currentSnapshot();
    if (snapshot == null) return 0;
    String files = snapshot.summary().get(SnapshotSummary.TOTAL_DATA_FILES_PROP);
    return files == null ? 0 : Long.parseLong(files);
  }
}
