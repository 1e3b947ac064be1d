package lakesieve.deletes;

import java.util.BitSet;
import java.util.List;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileScanTask;

/**
 * A data file that equality deletes may reach.
 *
 * @param constants the common values of all rows of the file; their group is the node of the file's
 *     partition among the units
 * @param positionDeletes the other deletes of the file, including deletion vectors
 * @param task reads the file without its equality deletes, for a query without filters
 * @param kinds numbers of the kinds of deletes that may delete a row of the file; indexes clear
 *     some of them
 */
record AffectedFile(
    FileConstants constants,
    DataFile file,
    List<DeleteFile> positionDeletes,
    FileScanTask task,
    BitSet kinds) {

  /** The path, as the table spells it. */
  String path() {
    return file.location();
  }

  /** The node of the file's partition among the units. */
  int group() {
    return constants.group();
  }
}
