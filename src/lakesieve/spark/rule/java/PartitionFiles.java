package lakesieve;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.fs.FileStatus;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreePattern$;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;

/**
 * The files of a directory that Spark itself leaves by conditions on partition columns. Spark leaves
 * out the others when it plans the scan, which is after the rules of the optimizer.
 */
public final class PartitionFiles {
  private PartitionFiles() {}

  /** The files of an index that the conditions above its leaf leave. */
  public static List<FileStatus> of(
      FileIndex index, LogicalPlan leaf, List<Expression> conditions) {
    List<FileStatus> files = new ArrayList<>();
    List<Expression> filters = filters(leaf, conditions);
    if (filters.isEmpty() && !(index instanceof KeptFileIndex)) {
      scala.collection.Iterator all = FileScans.files(index);
      while (all.hasNext()) files.add((FileStatus) all.next());
      return files;
    }
    List<Expression> none = new ArrayList<>();
    scala.collection.Iterator partitions =
        index.listFiles(FileRelations.seq(filters), FileRelations.seq(none)).iterator();
    while (partitions.hasNext()) {
      scala.collection.Iterator inside = ((PartitionDirectory) partitions.next()).files().iterator();
      while (inside.hasNext()) files.add(((FileStatusWithMetadata) inside.next()).fileStatus());
    }
    return files;
  }

  /** The parts of the conditions that compare partition columns alone. */
  private static List<Expression> filters(LogicalPlan leaf, List<Expression> conditions) {
    Set<String> names = new HashSet<>();
    names.addAll(Arrays.asList(FileScans.relation(leaf).partitionSchema().fieldNames()));
    Set<Object> columns = new HashSet<>();
    scala.collection.Iterator output = leaf.output().iterator();
    while (output.hasNext()) {
      Attribute attribute = (Attribute) output.next();
      if (names.contains(attribute.name())) columns.add(attribute.exprId());
    }
    List<Expression> found = new ArrayList<>();
    if (columns.isEmpty()) return found;
    for (Expression condition : conditions) add(condition, columns, found);
    return found;
  }

  private static void add(Expression condition, Set<Object> columns, List<Expression> found) {
    if (condition instanceof And) {
      add(((And) condition).left(), columns, found);
      add(((And) condition).right(), columns, found);
      return;
    }
    boolean hasSubquery = condition.containsPattern(TreePattern$.MODULE$.PLAN_EXPRESSION());
    if (!condition.deterministic() || hasSubquery || condition.references().isEmpty()) return;
    scala.collection.Iterator references = condition.references().iterator();
    while (references.hasNext()) {
      if (!columns.contains(((Attribute) references.next()).exprId())) return;
    }
    found.add(condition);
  }
}
