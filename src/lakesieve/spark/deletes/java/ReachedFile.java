package lakesieve.deletes;

import java.util.BitSet;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileScanTask;

/** A data file that equality deletes may reach. */
public final class ReachedFile {
  public FileScanTask task; // without its equality deletes, for no filter
  public DataFile file;
  public DeleteFile[] others; // position deletes and deletion vectors
  public int group; // its node among the units
  public BitSet kinds = new BitSet(); // of the deletes that may delete a row of it
}
