package lakesieve;

import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.spark.source.SparkTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Subquery;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.V2ScanRelationPushDown$;
import org.apache.spark.sql.internal.SQLConf$;
import ${sql}.SparkSession;

/**
 * Makes the scans of Iceberg tables of very many files a little before Spark does, when they are not
 * planned yet, and has them pruned: so manifests without a file to read are not read either.
 *
 * <p>Spark makes them by the same rule in the next batch of its optimizer, and right behind it, in the
 * same batch, has Iceberg plan them.
 */
public final class IcebergListing extends Rule {
  /** The setting for the number of data files from which on a table has very many. */
  public static final String MANY_FILES = "spark.lakesieve.iceberg.manyFiles";

  private static final String FILES = "total-data-files";
  private static final String DEFAULT = "5000";

  private final PruningRule rule;
  private final IcebergScans scans;

  IcebergListing(PruningRule rule, IcebergScans scans) {
    this.rule = rule;
    this.scans = scans;
  }

  /** Put it into a session with the pruning rule; returns whether it could be. */
  public static boolean install(SparkSession spark, PruningRule rule, IcebergScans scans) {
    return EarlyRules.install(spark, "iceberg", new IcebergListing(rule, scans));
  }

  /** The plan with its scans made and pruned, where one of them may be of very many files. */
  @Override
  public TreeNode apply(TreeNode plan) {
    // those are planned again, or visited again in an outer plan
    if (!this.rule.prunes() || plan instanceof Subquery || plan instanceof V2WriteCommand) {
      return plan;
    }
    try {
      long many = Long.parseLong(SQLConf$.MODULE$.get().getConfString(MANY_FILES, DEFAULT).trim());
      if (!hasMany((LogicalPlan) plan, many, 0)) return plan;
      LogicalPlan made = (LogicalPlan) V2ScanRelationPushDown$.MODULE$.apply((LogicalPlan) plan);
      this.rule.pruneEarly(made, this.scans);
      return made;
    } catch (Exception e) {
      return plan; // Spark reports what is wrong, if anything is
    }
  }

  private static boolean hasMany(LogicalPlan n, long many, int depth) {
    if (depth > ScanSearch.DEEPEST_PLAN) throw new IllegalStateException("plan too deep");
    if (n instanceof DataSourceV2Relation) {
      Object table = ((DataSourceV2Relation) n).table();
      return table instanceof SparkTable && files(((SparkTable) table).table()) >= many;
    }
    scala.collection.Iterator children = n.children().iterator();
    while (children.hasNext()) {
      if (hasMany((LogicalPlan) children.next(), many, depth + 1)) return true;
    }
    return false;
  }

  /** Data files of a table as its current version counts them; 0 where it does not. */
  private static long files(Table table) {
    Snapshot snapshot = table.currentSnapshot();
    String files = snapshot == null ? null : (String) snapshot.summary().get(FILES);
    return files == null ? 0 : Long.parseLong(files);
  }
}
