package lakesieve.folders;

import lakesieve.spark.Scala;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import scala.collection.immutable.Map;

/** Copies of leaves that read other files; hides what differs between versions of Spark. */
public final class FileRelations {
  private FileRelations() {}

  /** Copy a leaf so that it reads the files of another index. */
  public static LogicalPlan with(LogicalPlan leaf, FileIndex index) {
    HadoopFsRelation old = FileScans.relation(leaf);
    return with(leaf, index, old.fileFormat(), old.options());
  }

  /** Copy a leaf so that it reads its files by another format. */
  public static LogicalPlan with(LogicalPlan leaf, FileFormat format) {
    HadoopFsRelation old = FileScans.relation(leaf);
    return with(leaf, old.location(), format, old.options());
  }

  /**
   * Copy a leaf for raw reads. These fail if a file cannot be read, even if the session ignores
   * such files: otherwise an index would record that the file holds nothing.
   */
  public static LogicalPlan strict(LogicalPlan leaf) {
    HadoopFsRelation relation = FileScans.relation(leaf);
    Map<String, String> options = withFalse(relation.options(), "ignoreCorruptFiles");
    options = withFalse(options, "ignoreMissingFiles");
    return with(leaf, relation.location(), relation.fileFormat(), options);
  }

  // Scala 2.13 declares the result of updated() without its type parameters
  @SuppressWarnings("unchecked")
  private static Map<String, String> withFalse(Map<String, String> options, String name) {
    Map<String, String> changed = options.updated(name, "false");
    return changed;
  }

  private static LogicalPlan with(
      LogicalPlan leaf, FileIndex index, FileFormat format, Map<String, String> options) {
    HadoopFsRelation old = FileScans.relation(leaf);
    HadoopFsRelation relation =
        new HadoopFsRelation(
            index,
            old.partitionSchema(),
            old.dataSchema(),
            old.bucketSpec(),
            format,
            options,
            old.sparkSession());
    // the number of arguments differs between versions, but the first is always the relation
    Object[] arguments = Scala.list(((LogicalRelation) leaf).productIterator().toSeq()).toArray();
    arguments[0] = relation;
    return leaf.makeCopy(arguments);
  }
}
