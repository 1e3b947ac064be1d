package lakesieve.folders;

import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import lakesieve.spark.Scala;
import org.apache.hadoop.fs.FileStatus;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;

/**
 * The files of a directory that Spark itself selects by conditions on partition columns. Spark
 * skips the other files when it plans the scan, which is after the rules of the optimizer.
 */
final class PartitionFiles {
  private PartitionFiles() {}

  /** Return the files of an index that the conditions above its leaf leave. */
  static List<FileStatus> of(FileIndex index, LogicalPlan leaf, List<Expression> conditions) {
    List<Expression> filters = filters(leaf, conditions);
    if (filters.isEmpty() && !(index instanceof KeptFileIndex)) return FolderFiles.of(index);
    List<Expression> none = List.of();
    return Scala.list(index.listFiles(Scala.seq(filters), Scala.seq(none))).stream()
        .flatMap(directory -> Scala.list(directory.files()).stream())
        .map(FileStatusWithMetadata::fileStatus)
        .toList();
  }

  /** Return the parts of the conditions that compare partition columns alone. */
  private static List<Expression> filters(LogicalPlan leaf, List<Expression> conditions) {
    List<String> names = List.of(FileScans.relation(leaf).partitionSchema().fieldNames());
    Set<ExprId> columns =
        Scala.list(leaf.output()).stream()
            .filter(column -> names.contains(column.name()))
            .map(Attribute::exprId)
            .collect(Collectors.toSet());
    return conditions.stream()
        .flatMap(PartitionFiles::parts)
        .filter(part -> comparesOnly(columns, part))
        .toList();
  }

  /** Split a condition at its ANDs. */
  private static Stream<Expression> parts(Expression condition) {
    return condition instanceof And and
        ? Stream.concat(parts(and.left()), parts(and.right()))
        : Stream.of(condition);
  }

  private static boolean comparesOnly(Set<ExprId> columns, Expression condition) {
    return condition.deterministic()
        && !condition.containsPattern(TreePattern.PLAN_EXPRESSION())
        && !condition.references().isEmpty()
        && condition.references().forall(column -> columns.contains(column.exprId()));
  }
}
