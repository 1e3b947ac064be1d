package lakesieve.deletes;

import java.util.BitSet;
import java.util.List;
import java.util.StringJoiner;

/** The data files that the deletes of one kind may reach, listed for Python in parts. */
public final class KindFiles {
  private static final int PATHS_PER_CALL = 10000;

  private final int kind;
  private final List<AffectedFile> files;
  private int next = 0;

  KindFiles(int kind, List<AffectedFile> files) {
    this.kind = kind;
    this.files = files;
  }

  /** Paths of the next data files, one on each line; the empty string after the last file. */
  public String paths() {
    StringJoiner lines = new StringJoiner("\n");
    int end = Math.min(files.size(), next + PATHS_PER_CALL);
    for (AffectedFile affected : files.subList(next, end)) {
      String path = affected.path();
      if (path.indexOf('\n') >= 0) throw new IllegalArgumentException("line break in " + path);
      lines.add(path);
    }
    next = end;
    return lines.toString();
  }

  /**
   * Exclude data files that have no key of these deletes.
   *
   * @param unaffected a bit for each file, in the order of the paths
   */
  public void narrow(byte[] unaffected) {
    BitSet.valueOf(unaffected).stream().forEach(at -> files.get(at).kinds().clear(kind));
  }
}
