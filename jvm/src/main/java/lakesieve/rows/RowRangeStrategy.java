package lakesieve.rows;

import java.util.List;
import java.util.Set;
import java.util.function.UnaryOperator;
import lakesieve.files.FileRows;
import lakesieve.folders.FileScans;
import lakesieve.spark.ClassicSessions;
import lakesieve.spark.PlanStrategy;
import lakesieve.spark.Scala;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;

/**
 * Plans scans that read only some rows of their files.
 *
 * <p>Other strategies plan such a scan, as they would without lakesieve. They get the scan of a
 * connector that reads fewer rows. The format of a file scan is replaced after them.
 */
public final class RowRangeStrategy extends PlanStrategy {
  // a format whose files cannot be split may count the rows that it reads
  private static final Set<String> IF_SPLIT =
      Set.of(
          "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat",
          "org.apache.spark.sql.delta.DeltaParquetFileFormat");

  /**
   * The class of the format that reads file groups of Hudi. It merges the rows of a base file with
   * those of log files, and then all rows of the base file are read.
   */
  public static final String HUDI =
      "org.apache.spark.sql.execution.datasources.parquet.HoodieFileGroupReaderBasedFileFormat";

  @Override
  protected List<SparkPlan> plans(LogicalPlan plan) {
    LogicalPlan read = withRestriction(plan);
    if (read == plan && !isRestricted(plan)) return List.of();
    var planner = ClassicSessions.state(ClassicSessions.active()).planner();
    for (SparkStrategy other : Scala.list(planner.strategies())) {
      if (other instanceof RowRangeStrategy) continue;
      List<SparkPlan> plans = Scala.list(other.apply(read));
      if (!plans.isEmpty()) return plans.stream().map(RowRangeStrategy::restricted).toList();
    }
    return List.of();
  }

  /**
   * Return filters and projections above the scan of a connector, with the scan that reads fewer
   * rows; the plan itself where there is no such scan.
   */
  private static LogicalPlan withRestriction(LogicalPlan plan) {
    if (plan instanceof DataSourceV2ScanRelation read) {
      UnaryOperator<Scan> restriction = RestrictedScans.of(read.scan());
      return restriction == null ? plan : with(plan, read.scan(), restriction.apply(read.scan()));
    }
    if (!(plan instanceof Project || plan instanceof Filter)) return plan;
    LogicalPlan child = plan.children().apply(0);
    LogicalPlan other = withRestriction(child);
    return other == child ? plan : with(plan, child, other);
  }

  /** Return true for filters and projections above a file scan that reads only some rows. */
  private static boolean isRestricted(LogicalPlan plan) {
    LogicalPlan node = plan;
    while (node instanceof Project || node instanceof Filter) node = node.children().apply(0);
    HadoopFsRelation relation = FileScans.relation(node);
    return relation != null && FileScans.rows(relation) != null && RowPredicate.installed() != null;
  }

  /**
   * Return a plan whose scan has a format that reads fewer rows.
   *
   * <p>Spark's own ways to replace nodes do not do, because they keep a node that equals its
   * replacement. The class of a Parquet format equals all of its subclasses.
   */
  private static SparkPlan restricted(SparkPlan plan) {
    if (plan instanceof FileSourceScanExec scan) return restrictedScan(scan);
    List<SparkPlan> children = Scala.list(plan.children());
    if (children.size() != 1) return plan;
    SparkPlan child = children.get(0);
    SparkPlan other = restricted(child);
    if (other == child) return plan;
    return with(plan, child, other);
  }

  /** Return a node with another argument in the place of one of its arguments. */
  private static <T extends TreeNode<T>> T with(T plan, Object argument, Object other) {
    Object[] arguments = Scala.list(plan.productIterator().toSeq()).toArray();
    for (int at = 0; at < arguments.length; at++) {
      if (arguments[at] == argument) arguments[at] = other;
    }
    return plan.makeCopy(arguments);
  }

  /** Return the scan with a format that reads fewer rows, or the scan itself where it must stay. */
  private static SparkPlan restrictedScan(FileSourceScanExec scan) {
    HadoopFsRelation old = scan.relation();
    FileFormat format = old.fileFormat();
    FileRows rows = FileScans.rows(old);
    if (rows == null || !(format instanceof ParquetFileFormat parquet) || !isKnown(old, parquet)) {
      return scan;
    }
    HadoopFsRelation relation =
        new HadoopFsRelation(
            old.location(),
            old.partitionSchema(),
            old.dataSchema(),
            old.bucketSpec(),
            new RowRangeFormat(parquet, rows),
            old.options(),
            old.sparkSession());
    return with(scan, old, relation);
  }

  /** Return true for a format that returns the same values when fewer rows are read. */
  private static boolean isKnown(HadoopFsRelation relation, ParquetFileFormat format) {
    String name = format.getClass().getName();
    return name.equals(HUDI)
        || IF_SPLIT.contains(name)
            && Scala.list(relation.location().rootPaths()).stream()
                .allMatch(
                    root -> format.isSplitable(relation.sparkSession(), relation.options(), root));
  }
}
