package lakesieve.deletes;

import java.util.BitSet;
import java.util.List;

/** The data files that the deletes of one kind may reach, as Python goes through them. */
public final class KindFiles {
  private static final int LINES = 10000; // for Python at once

  private final int kind;
  private final List files; // ReachedFile
  private int next = 0;

  public KindFiles(int kind, List files) {
    this.kind = kind;
    this.files = files;
  }

  /** Paths of the next data files, one a line; nothing behind the last. */
  public String paths() {
    StringBuilder lines = new StringBuilder();
    int end = Math.min(files.size(), next + LINES);
    for (; next < end; next++) {
      String path = ((ReachedFile) files.get(next)).file.location();
      if (path.indexOf('\n') >= 0) throw new IllegalArgumentException("line break in " + path);
      if (lines.length() > 0) lines.append('\n');
      lines.append(path);
    }
    return lines.toString();
  }

  /**
   * Take data files that hold no key of these deletes out of their reach.
   *
   * @param free a bit for each of them, in the order of the paths
   */
  public void narrow(byte[] free) {
    BitSet out = BitSet.valueOf(free);
    for (int i = 0; i < files.size(); i++) {
      if (out.get(i)) ((ReachedFile) files.get(i)).kinds.clear(kind);
    }
  }
}
