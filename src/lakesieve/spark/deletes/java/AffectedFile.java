package lakesieve.deletes;

import java.util.BitSet;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileScanTask;

/** A data file that equality deletes may reach. */
public final class AffectedFile {
  public FileScanTask task; // without its equality deletes, for a query without filters
  public DataFile file;
  public DeleteFile[] positionDeletes; // deletion vectors among them
  public int group; // the node of its partition among the units
  public BitSet kinds = new BitSet(); // of the deletes that may delete a row of it
}
