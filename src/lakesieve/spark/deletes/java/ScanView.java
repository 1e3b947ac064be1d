package lakesieve.deletes;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.BatchScan;
import org.apache.iceberg.ContentFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.expressions.Evaluator;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Projections;
import org.apache.iceberg.io.CloseableIterable;

/**
 * A scan whose tasks are some of the scan's own, without their equality deletes, or given tasks.
 *
 * <p>All else, filters and projection among it, is the scan's own.
 */
public final class ScanView implements InvocationHandler {
  private final BatchScan scan;
  private final Map files;
  private final boolean inside;
  private final List given;

  private ScanView(BatchScan scan, Map files, boolean inside, List given) {
    this.scan = scan;
    this.files = files;
    this.inside = inside;
    this.given = given;
  }

  /**
   * The data files that are, or are not, some.
   *
   * @param files path to what the rows of a file inside bear, see {@link FileConstants}
   */
  public static BatchScan ofFiles(BatchScan scan, Map files, boolean inside) {
    return view(scan, files, inside, null);
  }

  /** The given tasks; a filter takes out those whose partition it excludes. */
  public static BatchScan ofTasks(BatchScan scan, List tasks) {
    return view(scan, null, false, tasks);
  }

  private static BatchScan view(BatchScan scan, Map files, boolean inside, List given) {
    return (BatchScan)
        Proxy.newProxyInstance(
            BatchScan.class.getClassLoader(),
            new Class[] {BatchScan.class},
            new ScanView(scan, files, inside, given));
  }

  public Object invoke(Object proxy, Method method, Object[] args) throws Throwable {
    String name = method.getName();
    if (name.equals("equals")) return Boolean.valueOf(proxy == args[0]);
    if (name.equals("hashCode")) return Integer.valueOf(System.identityHashCode(proxy));
    if (name.equals("planTasks")) throw new UnsupportedOperationException("planTasks");
    if (name.equals("planFiles")) {
      return CloseableIterable.withNoopClose(given == null ? planned() : given);
    }
    try {
      Object result = method.invoke(scan, args);
      if (!(result instanceof BatchScan)) return result;
      boolean filtered = given != null && name.equals("filter") && args != null;
      List kept = filtered ? within((Expression) args[0]) : given;
      return view((BatchScan) result, files, inside, kept);
    } catch (InvocationTargetException e) {
      throw e.getCause();
    }
  }

  /**
   * The given tasks in partitions where a filter may hold.
   *
   * <p>Spark does not apply a filter again that selects whole partitions; of such a one this is all.
   */
  private List within(Expression filter) {
    List kept = new ArrayList();
    Map evaluators = new HashMap();
    for (int i = 0; i < given.size(); i++) {
      FileScanTask task = (FileScanTask) given.get(i);
      Integer id = Integer.valueOf(task.spec().specId());
      Evaluator evaluator = (Evaluator) evaluators.get(id);
      if (evaluator == null) {
        Expression partitions =
            Projections.inclusive(task.spec(), scan.isCaseSensitive()).project(filter);
        evaluator = new Evaluator(task.spec().partitionType(), partitions, scan.isCaseSensitive());
        evaluators.put(id, evaluator);
      }
      if (evaluator.eval(((ContentFile) task.file()).partition())) kept.add(task);
    }
    return kept;
  }

  private List planned() throws Exception {
    List kept = new ArrayList();
    FileConstants constants = new FileConstants();
    CloseableIterable tasks = scan.planFiles();
    try {
      for (Iterator it = tasks.iterator(); it.hasNext(); ) {
        FileScanTask task = (FileScanTask) it.next();
        Object[] known = (Object[]) files.get(task.file().location());
        if ((known != null) != inside) continue;
        kept.add(inside ? constants.task(task, known) : task);
      }
    } finally {
      tasks.close();
    }
    return kept;
  }
}
