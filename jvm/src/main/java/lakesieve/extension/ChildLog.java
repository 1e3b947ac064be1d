package lakesieve.extension;

import java.io.BufferedReader;
import java.io.IOException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Copies the output of a child process into the driver's log. */
public final class ChildLog {
  private static final Logger LOG = LoggerFactory.getLogger("lakesieve");
  // characters that a terminal would obey, as in printable.py
  private static final String UNSAFE =
      "[\\p{Cntrl}\\x80-\\x9f\\x{61c}\\x{200e}\\x{200f}\\x{2028}-\\x{202e}\\x{2066}-\\x{2069}]";

  private final String child;
  private volatile String last = "";

  private ChildLog(String child) {
    this.child = child;
  }

  /**
   * Copy lines in a thread of their own until the child ends.
   *
   * @param child the name of the child in the log
   */
  public static ChildLog of(BufferedReader lines, String child) {
    ChildLog log = new ChildLog(child);
    Thread thread = new Thread(() -> log.copy(lines), "lakesieve-" + child + "-log");
    thread.setDaemon(true);
    thread.start();
    return log;
  }

  /** The last line that the child wrote, without characters that a terminal would obey. */
  public String lastLine() {
    return last;
  }

  private void copy(BufferedReader lines) {
    try (lines) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        String safe = line.replaceAll(UNSAFE, "?");
        last = safe.trim();
        LOG.warn("{}: {}", child, safe);
      }
    } catch (IOException e) {
      // the child has ended
    }
  }
}
