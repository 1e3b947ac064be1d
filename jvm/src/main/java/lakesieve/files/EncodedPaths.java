package lakesieve.files;

import java.util.StringJoiner;
import org.apache.hadoop.fs.Path;

/** Paths of data files as the columns of Spark spell them: percent-encoded. */
public final class EncodedPaths {
  private static final String SEPARATOR = "\0";

  private EncodedPaths() {}

  /** Encode some paths, as Hadoop prints them. A NUL character separates them before and after. */
  public static String of(String paths) {
    StringJoiner encoded = new StringJoiner(SEPARATOR);
    for (String path : paths.split(SEPARATOR, -1)) encoded.add(new Path(path).toUri().toString());
    return encoded.toString();
  }
}
