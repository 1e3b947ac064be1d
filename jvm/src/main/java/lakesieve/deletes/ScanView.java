package lakesieve.deletes;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import lakesieve.iceberg.ForwardingProxy;
import lakesieve.iceberg.ForwardingProxy.Call;
import org.apache.iceberg.BatchScan;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.ScanTask;
import org.apache.iceberg.expressions.Evaluator;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Projections;
import org.apache.iceberg.io.CloseableIterable;

/**
 * A scan with other tasks: either a part of the tasks that Iceberg plans, without their equality
 * deletes, or a fixed list.
 *
 * <p>Everything else, such as filters and projection, comes from the underlying scan.
 */
final class ScanView {
  /** The tasks of a view. */
  private interface Tasks {
    /**
     * Plan the tasks.
     *
     * @param scan the underlying scan with all filters that it was given
     */
    List<FileScanTask> planned(BatchScan scan) throws Exception;

    /** The tasks for a scan with one more filter. */
    Tasks filtered(BatchScan scan, Expression filter);
  }

  private ScanView() {}

  /** A scan of all data files except the affected ones, by path. */
  static BatchScan withoutFiles(BatchScan scan, Map<String, AffectedFile> affected) {
    return view(scan, new Planned(affected, false));
  }

  /** A scan of the affected files, by path, whose rows get the constants of their file. */
  static BatchScan ofFiles(BatchScan scan, Map<String, AffectedFile> affected) {
    return view(scan, new Planned(affected, true));
  }

  /** A scan of these tasks; its filters exclude tasks of partitions where no row can match. */
  static BatchScan ofTasks(BatchScan scan, List<FileScanTask> tasks) {
    return view(scan, new Listed(tasks));
  }

  private static BatchScan view(BatchScan scan, Tasks tasks) {
    return ForwardingProxy.of(BatchScan.class, scan, call -> answer(call, scan, tasks));
  }

  private static Object answer(Call call, BatchScan scan, Tasks tasks) throws Throwable {
    switch (call.name()) {
      case "planTasks":
        throw new UnsupportedOperationException("planTasks");
      case "planFiles":
        return CloseableIterable.withNoopClose(tasks.planned(scan));
      default:
        Object answer = call.forward();
        // methods such as select and filter return another scan
        if (!(answer instanceof BatchScan refined)) return answer;
        boolean filters = call.name().equals("filter");
        return view(
            refined, filters ? tasks.filtered(scan, (Expression) call.arguments()[0]) : tasks);
    }
  }

  /**
   * A part of the tasks that Iceberg plans for the filters of the scan.
   *
   * @param wanted true for the affected files, false for all others
   */
  private record Planned(Map<String, AffectedFile> affected, boolean wanted) implements Tasks {
    @Override
    public List<FileScanTask> planned(BatchScan scan) throws Exception {
      List<FileScanTask> kept = new ArrayList<>();
      ConstantTasks withConstants = new ConstantTasks();
      try (CloseableIterable<ScanTask> planned = scan.planFiles()) {
        for (ScanTask each : planned) {
          FileScanTask task = each.asFileScanTask();
          AffectedFile file = affected.get(task.file().location());
          if ((file != null) != wanted) continue;
          kept.add(wanted ? withConstants.task(task, file.constants()) : task);
        }
      }
      return kept;
    }

    @Override
    public Tasks filtered(BatchScan scan, Expression filter) {
      return this;
    }
  }

  /** A fixed list of tasks. */
  private record Listed(List<FileScanTask> tasks) implements Tasks {
    @Override
    public List<FileScanTask> planned(BatchScan scan) {
      return tasks;
    }

    /**
     * The tasks of partitions in which a filter may match.
     *
     * <p>Spark does not evaluate a filter again if it selects whole partitions, so it must be
     * evaluated here.
     */
    @Override
    public Tasks filtered(BatchScan scan, Expression filter) {
      Map<Integer, Evaluator> evaluators = new HashMap<>(); // by spec id
      List<FileScanTask> matching = new ArrayList<>();
      for (FileScanTask task : tasks) {
        Evaluator evaluator =
            evaluators.computeIfAbsent(
                task.spec().specId(), id -> evaluator(task.spec(), filter, scan.isCaseSensitive()));
        if (evaluator.eval(task.file().partition())) matching.add(task);
      }
      return new Listed(matching);
    }

    private static Evaluator evaluator(PartitionSpec spec, Expression filter, boolean sensitive) {
      Expression partitions = Projections.inclusive(spec, sensitive).project(filter);
      return new Evaluator(spec.partitionType(), partitions, sensitive);
    }
  }
}
