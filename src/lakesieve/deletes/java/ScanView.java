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
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionSpecParser;
import org.apache.iceberg.SchemaParser;
import org.apache.iceberg.expressions.Expressions;
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
  private final boolean filterable;

  private ScanView(BatchScan scan, Set paths, boolean inside, List given, boolean filterable) {
    this.scan = scan;
    this.paths = paths;
    this.inside = inside;
    this.given = given;
    this.filterable = filterable;
  }

  /** The data files whose path is, or is not, one of these. */
  public static BatchScan ofPaths(BatchScan scan, Set paths, boolean inside) {
    return view(scan, paths, inside, null, true);
  }

  /**
   * The given tasks, whatever is asked for.
   *
   * @param filterable a filter may be ignored: true if no filter selects whole partitions, which
   *     Spark would not apply again
   */
  public static BatchScan ofTasks(BatchScan scan, List tasks, boolean filterable) {
    return view(scan, null, false, tasks, filterable);
  }

  private static BatchScan view(
      BatchScan scan, Set paths, boolean inside, List given, boolean filterable) {
    return (BatchScan)
        Proxy.newProxyInstance(
            BatchScan.class.getClassLoader(),
            new Class[] {BatchScan.class},
            new ScanView(scan, paths, inside, given, filterable));
  }

  public Object invoke(Object proxy, Method method, Object[] args) throws Throwable {
    String name = method.getName();
    if (name.equals("equals")) return Boolean.valueOf(proxy == args[0]);
    if (name.equals("hashCode")) return Integer.valueOf(System.identityHashCode(proxy));
    if (name.equals("planTasks")) throw new UnsupportedOperationException("planTasks");
    if (name.equals("planFiles")) {
      return CloseableIterable.withNoopClose(given == null ? planned() : given);
    }
    if (name.equals("filter") && !filterable && args[0] != Expressions.alwaysTrue()) {
      throw new UnsupportedOperationException("filter: " + args[0]);
    }
    try {
      Object result = method.invoke(scan, args);
      if (!(result instanceof BatchScan)) return result;
      return view((BatchScan) result, paths, inside, given, filterable);
    } catch (InvocationTargetException e) {
      throw e.getCause();
    }
  }

  private List planned() throws Exception {
    List kept = new ArrayList();
    Map specs = new HashMap();
    String schema = null;
    CloseableIterable tasks = scan.planFiles();
    try {
      for (Iterator it = tasks.iterator(); it.hasNext(); ) {
        FileScanTask task = (FileScanTask) it.next();
        if (paths.contains(task.file().location()) != inside) continue;
        DeleteFile[] others = withoutEquality(task.deletes());
        if (others.length == task.deletes().size()) {
          kept.add(task);
          continue;
        }
        if (schema == null) schema = SchemaParser.toJson(task.schema());
        Integer spec = new Integer(task.file().specId());
        if (!specs.containsKey(spec)) specs.put(spec, PartitionSpecParser.toJson(task.spec()));
        ResidualEvaluator residual = ResidualEvaluator.unpartitioned(task.residual());
        kept.add(
            new BaseFileScanTask((DataFile) task.file(), others, schema, (String) specs.get(spec), residual));
      }
    } finally {
      tasks.close();
    }
    return kept;
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
