package lakesieve.folders;

import lakesieve.spark.Scala;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import scala.collection.immutable.Map;

/** Copies of leaves that read other files; hides what differs between versions of Spark. */
public final class FileRelations {
  private FileRelations() {}

  /** Copy a leaf so that it reads the files of another index. */
  public static LogicalPlan with(LogicalPlan leaf, FileIndex index) {
    return with(leaf, index, FileScans.relation(leaf).options());
  }

  /**
   * Copy a leaf for raw reads. These fail if a file cannot be read, even if the session ignores
   * such files: otherwise an index would record that the file holds nothing.
   */
  public static LogicalPlan strict(LogicalPlan leaf) {
    HadoopFsRelation relation = FileScans.relation(leaf);
    Map<String, String> options = withFalse(relation.options(), "ignoreCorruptFiles");
    return with(leaf, relation.location(), withFalse(options, "ignoreMissingFiles"));
  }

  // Scala 2.13 declares the result of updated() without its type parameters
  @SuppressWarnings("unchecked")
  private static Map<String, String> withFalse(Map<String, String> options, String name) {
    Map<String, String> changed = options.updated(name, "false");
    return changed;
  }

  private static LogicalPlan with(LogicalPlan leaf, FileIndex index, Map<String, String> options) {
    HadoopFsRelation old = FileScans.relation(leaf);
    HadoopFsRelation relation =
        new HadoopFsRelation(
            index,
            old.partitionSchema(),
            old.dataSchema(),
            old.bucketSpec(),
            old.fileFormat(),
            options,
            old.sparkSession());
    // the number of arguments differs between versions, but the first is always the relation
    Object[] arguments = Scala.list(((LogicalRelation) leaf).productIterator().toSeq()).toArray();
    arguments[0] = relation;
    return leaf.makeCopy(arguments);
  }
}
