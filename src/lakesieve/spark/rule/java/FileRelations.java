package lakesieve;

import java.util.List;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/** Copies of leaves that read other files; hides what differs between versions of Spark. */
public final class FileRelations {
  private FileRelations() {}

  /** Copy a leaf so that it reads the files of another index. */
  public static LogicalPlan with(LogicalPlan leaf, FileIndex index) {
    return with(leaf, index, FileScans.relation(leaf).options());
  }

  /**
   * Copy a leaf for raw reads, which fail where a file cannot be read, whatever the session ignores:
   * an index would say of such a file that it holds nothing.
   */
  public static LogicalPlan strict(LogicalPlan leaf) {
    HadoopFsRelation relation = FileScans.relation(leaf);
    scala.collection.immutable.Map options = relation.options();
    options = (scala.collection.immutable.Map) options.updated("ignoreCorruptFiles", "false");
    options = (scala.collection.immutable.Map) options.updated("ignoreMissingFiles", "false");
    return with(leaf, relation.location(), options);
  }

  private static LogicalPlan with(
      LogicalPlan leaf, FileIndex index, scala.collection.immutable.Map options) {
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
    // the number of arguments differs between versions, that the relation is the first does not
    Object[] arguments = new Object[((LogicalRelation) leaf).productArity()];
    for (int i = 0; i < arguments.length; i++) {
      arguments[i] = ((LogicalRelation) leaf).productElement(i);
    }
    arguments[0] = relation;
    return (LogicalPlan) leaf.makeCopy(arguments);
  }

  /** Convert a list to Scala. */
  public static ${Seq} seq(List<? extends Object> list) {
    return PythonUtils.toSeq(list).toSeq();
  }
}
