package lakesieve.deletes;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.BatchScan;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.ScanTask;
import org.apache.iceberg.expressions.Evaluator;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Projections;
import org.apache.iceberg.io.CloseableIterable;

/**
 * A scan with other tasks: a subset of those it plans, without their equality deletes, or a fixed list.
 *
 * <p>Everything else, such as filters and projection, is that of the underlying scan.
 */
public final class ScanView implements InvocationHandler {
  private final BatchScan scan;
  private final Map<String, Object[]> constants;
  private final boolean listed;
  private final List<FileScanTask> tasks;

  private ScanView(
      BatchScan scan, Map<String, Object[]> constants, boolean listed, List<FileScanTask> tasks) {
    this.scan = scan;
    this.constants = constants;
    this.listed = listed;
    this.tasks = tasks;
  }

  /**
   * A scan of the listed data files, or of all others.
   *
   * @param constants the paths of the listed files, each with its values, see {@link FileConstants}
   * @param listed true for the listed files, whose rows get the constants
   */
  public static BatchScan ofFiles(
      BatchScan scan, Map<String, Object[]> constants, boolean listed) {
    return view(scan, constants, listed, null);
  }

  /** A scan of these tasks; its filters exclude those of partitions where no row can match. */
  public static BatchScan ofTasks(BatchScan scan, List<FileScanTask> tasks) {
    return view(scan, null, false, tasks);
  }

  private static BatchScan view(
      BatchScan scan, Map<String, Object[]> constants, boolean listed, List<FileScanTask> tasks) {
    return (BatchScan)
        Proxy.newProxyInstance(
            BatchScan.class.getClassLoader(),
            new Class<?>[] {BatchScan.class},
            new ScanView(scan, constants, listed, tasks));
  }

  /** Answer a call of the scan's method. */
  @Override
  public Object invoke(Object proxy, Method method, Object[] args) throws Throwable {
    String name = method.getName();
    switch (name) {
      case "equals":
        return proxy == args[0];
      case "hashCode":
        return System.identityHashCode(proxy);
      case "planTasks":
        throw new UnsupportedOperationException(name);
      case "planFiles":
        return CloseableIterable.withNoopClose(tasks == null ? planned() : tasks);
      default:
        break;
    }
    try {
      Object result = method.invoke(scan, args);
      if (!(result instanceof BatchScan)) return result;
      boolean filtered = tasks != null && name.equals("filter") && args != null;
      List<FileScanTask> kept = filtered ? matching((Expression) args[0]) : tasks;
      return view((BatchScan) result, constants, listed, kept);
    } catch (InvocationTargetException e) {
      throw e.getCause();
    }
  }

  /**
   * The tasks of partitions where a filter may match.
   *
   * <p>Spark does not evaluate a filter again that selects whole partitions, so it must be done here.
   */
  private List<FileScanTask> matching(Expression filter) {
    List<FileScanTask> kept = new ArrayList<>();
    Map<Integer, Evaluator> evaluators = new HashMap<>(); // by spec id
    for (FileScanTask task : tasks) {
      Evaluator evaluator = (Evaluator) evaluators.get(task.spec().specId());
      if (evaluator == null) {
        Expression partitions =
            Projections.inclusive(task.spec(), scan.isCaseSensitive()).project(filter);
        evaluator = new Evaluator(task.spec().partitionType(), partitions, scan.isCaseSensitive());
        evaluators.put(task.spec().specId(), evaluator);
      }
      if (evaluator.eval(((DataFile) task.file()).partition())) kept.add(task);
    }
    return kept;
  }

  private List<FileScanTask> planned() throws Exception {
    List<FileScanTask> kept = new ArrayList<>();
    FileConstants fileConstants = new FileConstants();
    CloseableIterable<ScanTask> planned = scan.planFiles();
    try {
      for (ScanTask scanTask : planned) {
        FileScanTask task = scanTask.asFileScanTask();
        Object[] values = (Object[]) constants.get(((DataFile) task.file()).location());
        if ((values != null) != listed) continue;
        kept.add(listed ? fileConstants.task(task, values) : task);
      }
    } finally {
      planned.close();
    }
    return kept;
  }
}
