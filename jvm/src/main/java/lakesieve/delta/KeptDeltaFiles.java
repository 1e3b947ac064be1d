package lakesieve.delta;

import java.util.List;
import lakesieve.files.FileRows;
import lakesieve.files.RestrictedFiles;
import lakesieve.spark.LateDeltaFiles;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.SnapshotDescriptor;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.files.TahoeFileIndex;

/**
 * A file index with files of a Delta snapshot, listed without the query that Delta runs over its
 * log. It has either all files, before Delta skips any of them, or chosen files.
 */
public final class KeptDeltaFiles extends LateDeltaFiles implements RestrictedFiles {
  private static final String CHOSEN = "lakesieve-pruned";
  private static final String ALL = "lakesieve-listed";

  /**
   * All files of a snapshot.
   *
   * @param original the file index of Delta that this index replaces
   * @param files packed
   */
  record Whole(TahoeFileIndex original, SnapshotFiles files) {}

  private final Whole whole; // null for chosen files
  private final FileRows rows; // null: all rows of every file

  private KeptDeltaFiles(
      SparkSession spark,
      String action,
      List<AddFile> files,
      TahoeFileIndex old,
      SnapshotDescriptor snapshot,
      Whole whole,
      FileRows rows) {
    super(spark, action, files, old.deltaLog(), old.path(), snapshot);
    this.whole = whole;
    this.rows = rows;
  }

  /**
   * Make an index of chosen files.
   *
   * @param old the index that listed them, which may leave out other rows
   * @param rows the rows to read
   */
  static KeptDeltaFiles chosen(
      SparkSession spark,
      List<AddFile> files,
      TahoeFileIndex old,
      SnapshotDescriptor snapshot,
      FileRows rows) {
    if (old instanceof KeptDeltaFiles some) rows.retain(some.rows);
    FileRows some = rows.isEmpty() ? null : rows;
    return new KeptDeltaFiles(spark, CHOSEN, files, old, snapshot, null, some);
  }

  /**
   * Make an index of all files of a snapshot.
   *
   * @param old the index of the original leaf
   */
  static KeptDeltaFiles all(
      SparkSession spark, Whole whole, TahoeFileIndex old, SnapshotDescriptor snapshot) {
    return new KeptDeltaFiles(spark, ALL, List.of(), old, snapshot, whole, null);
  }

  /** All files of the snapshot; null for an index of chosen files. */
  Whole whole() {
    return whole;
  }

  @Override
  public FileRows rows() {
    return rows;
  }

  @Override
  protected List<AddFile> late() {
    return whole == null ? null : whole.files().all();
  }

  /** Bytes of the files. */
  @Override
  public long sizeInBytes() {
    return whole == null ? super.sizeInBytes() : whole.files().size();
  }
}
