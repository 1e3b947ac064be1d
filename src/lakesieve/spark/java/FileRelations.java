package lakesieve;

import java.util.List;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/** Leaves that read files, with another list of files; what differs between Spark versions. */
public final class FileRelations {
  private FileRelations() {}

  /** A copy of the leaf that reads the files of another index. */
  public static LogicalPlan with(LogicalPlan leaf, FileIndex index) {
    HadoopFsRelation old = FileScans.relation(leaf);
    HadoopFsRelation relation =
        new HadoopFsRelation(
            index,
            old.partitionSchema(),
            old.dataSchema(),
            old.bucketSpec(),
            old.fileFormat(),
            old.options(),
            old.sparkSession());
    // the number of arguments differs between versions, that the relation is the first does not
    Object[] arguments = new Object[((LogicalRelation) leaf).productArity()];
    for (int i = 0; i < arguments.length; i++) {
      arguments[i] = ((LogicalRelation) leaf).productElement(i);
    }
    arguments[0] = relation;
    return (LogicalPlan) leaf.makeCopy(arguments);
  }

  public static scala.collection.immutable.Seq seq(List list) {
    return PythonUtils.toSeq(list).toSeq();
  }

}
