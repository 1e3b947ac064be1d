package lakesieve.folders;

/** Texts with a path in each line, by which Python gets the files of a table. */
public final class PathLines {
  /** Lines of one text at most: the paths of a table are never one text. */
  public static final int LIMIT = 10000;

  private PathLines() {}

  /** Append a path as another line. */
  public static void append(StringBuilder lines, String path) {
    if (path.indexOf('\n') >= 0) throw new IllegalArgumentException("line break in " + path);
    if (lines.length() > 0) lines.append('\n');
    lines.append(path);
  }
}
