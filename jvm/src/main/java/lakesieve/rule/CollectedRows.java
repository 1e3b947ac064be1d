package lakesieve.rule;

import java.lang.StackWalker.StackFrame;
import java.util.Set;

/**
 * Whether the rows of a plan are collected while it is optimized.
 *
 * <p>If a limit is the last step of such a plan, Spark reads one file, then four times as many,
 * until it has enough rows. Then it costs more to ask for the files of the limit than it gains.
 */
final class CollectedRows {
  // the methods of a Dataset, in PySpark and Scala, that read the files of a limit step by step
  private static final Set<String> COLLECTING =
      Set.of("collect", "collectToPython", "head", "isEmpty", "showString", "takeAsList");

  private static final StackWalker STACK = StackWalker.getInstance();

  private CollectedRows() {}

  /** Return whether a method of a Dataset that collects rows runs on this thread. */
  static boolean areWanted() {
    return STACK.walk(frames -> frames.anyMatch(CollectedRows::collects));
  }

  private static boolean collects(StackFrame frame) {
    String name = frame.getClassName();
    return COLLECTING.contains(frame.getMethodName())
        && name.startsWith("org.apache.spark.sql.")
        && name.endsWith(".Dataset");
  }
}
