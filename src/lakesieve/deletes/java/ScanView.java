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
import java.util.Set;
import org.apache.iceberg.BaseFileScanTask;
import org.apache.iceberg.BatchScan;
import org.apache.iceberg.ContentFile;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionSpecParser;
import org.apache.iceberg.SchemaParser;
import org.apache.iceberg.expressions.Evaluator;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Projections;
import org.apache.iceberg.expressions.ResidualEvaluator;
import org.apache.iceberg.io.CloseableIterable;

/**
 * A scan whose tasks are some of the scan's own, without their equality deletes, or given tasks.
 *
 * <p>All else, filters and projection among it, is the scan's own.
 */
public final class ScanView implements InvocationHandler {
  private final BatchScan scan;
  private final Set paths;
  private final boolean inside;
  private final List given;

  private ScanView(BatchScan scan, Set paths, boolean inside, List given) {
    this.scan = scan;
    this.paths = paths;
    this.inside = inside;
    this.given = given;
  }

  /** The data files whose path is, or is not, one of these. */
  public static BatchScan ofPaths(BatchScan scan, Set paths, boolean inside) {
    return view(scan, paths, inside, null);
  }

  /** The given tasks; a filter takes out those whose partition it excludes. */
  public static BatchScan ofTasks(BatchScan scan, List tasks) {
    return view(scan, null, false, tasks);
  }

  private static BatchScan view(BatchScan scan, Set paths, boolean inside, List given) {
    return (BatchScan)
        Proxy.newProxyInstance(
            BatchScan.class.getClassLoader(),
            new Class[] {BatchScan.class},
            new ScanView(scan, paths, inside, given));
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
      return view((BatchScan) result, paths, inside, kept);
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
      Integer id = new Integer(task.spec().specId());
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
    Cleared cleared = new Cleared();
    CloseableIterable tasks = scan.planFiles();
    try {
      for (Iterator it = tasks.iterator(); it.hasNext(); ) {
        FileScanTask task = (FileScanTask) it.next();
        if (paths.contains(task.file().location()) != inside) continue;
        kept.add(inside ? cleared.of(task) : task);
      }
    } finally {
      tasks.close();
    }
    return kept;
  }

  /** Makes tasks without their equality deletes. */
  public static final class Cleared {
    private final Map specs = new HashMap();
    private String schema = null;

    public FileScanTask of(FileScanTask task) {
      return of(task, ResidualEvaluator.unpartitioned(task.residual()));
    }

    public FileScanTask of(FileScanTask task, ResidualEvaluator residual) {
      DeleteFile[] others = withoutEquality(task.deletes());
      if (others.length == task.deletes().size()) return task;
      if (schema == null) schema = SchemaParser.toJson(task.schema());
      Integer spec = new Integer(task.spec().specId());
      if (!specs.containsKey(spec)) specs.put(spec, PartitionSpecParser.toJson(task.spec()));
      return new BaseFileScanTask(
          (DataFile) task.file(), others, schema, (String) specs.get(spec), residual);
    }
  }

  /** The position deletes and deletion vectors among delete files. */
  public static DeleteFile[] withoutEquality(List deletes) {
    List others = new ArrayList();
    for (int i = 0; i < deletes.size(); i++) {
      if (((DeleteFile) deletes.get(i)).content() != FileContent.EQUALITY_DELETES) {
        others.add(deletes.get(i));
      }
    }
    return (DeleteFile[]) others.toArray(new DeleteFile[0]);
  }
}
