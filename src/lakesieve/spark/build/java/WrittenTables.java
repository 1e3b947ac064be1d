package lakesieve;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.connector.catalog.CatalogPlugin;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.streaming.StreamingQueryListener;
import org.apache.spark.sql.util.QueryExecutionListener;
import org.slf4j.LoggerFactory;
import scala.Product;

/**
 * Names the tables that the commands and streams of a session write to, each time one has ended. It
 * hears of them after they are done, in a thread of Spark's own, and holds none of them up.
 */
public final class WrittenTables extends StreamingQueryListener
    implements QueryExecutionListener, InvocationHandler {
  // a command that has none of these in the name of its class writes no rows
  private static final Pattern WRITES =
      Pattern.compile(
          "Append|Overwrite|Replace|Write|Insert|Merge|Update|Delete|Save|AsSelect|Optimize");
  // members of commands that are only read
  private static final List<String> READ = Arrays.asList("query", "source", "sourceTable");
  // streams whose sinks are of no table in their plan
  private static final Pattern SINK = Pattern.compile("(Delta|Hoodie\\w*|File\\w*)Sink\\[(.*)\\]");
  private static final int DEEPEST = 20;
  private static final String EVENTS = "org.apache.iceberg.events.";

  // those that hear of Iceberg's rewrites, whose listeners can never be taken away
  private static final Set<WrittenTables> HEARING = new LinkedHashSet<>();
  private static boolean registered = false;

  private final Function<String, String> python;

  /**
   * Make one for a session.
   *
   * @param python takes names that are apart by a character 0, and answers nothing
   */
  public WrittenTables(Function<String, String> python) {
    this.python = python;
  }

  /** Hear of the rewrites of Iceberg's procedures: these are executed while a CALL is analyzed. */
  public void begin() {
    synchronized (HEARING) {
      HEARING.add(this);
      if (registered) return;
      try {
        ClassLoader loader = Thread.currentThread().getContextClassLoader();
        Class<?> type = Class.forName(EVENTS + "Listener", true, loader);
        Class<?> event = Class.forName(EVENTS + "CreateSnapshotEvent", true, loader);
        Object proxy = Proxy.newProxyInstance(loader, new Class<?>[] {type}, this);
        Class<?> listeners = Class.forName(EVENTS + "Listeners", true, loader);
        listeners.getMethod("register", type, Class.class).invoke(null, proxy, event);
        registered = true;
      } catch (ClassNotFoundException e) {
        // a session without Iceberg
      } catch (Exception e) {
        warn(e);
      }
    }
  }

  /** Hear of them no more. */
  public void end() {
    synchronized (HEARING) {
      HEARING.remove(this);
    }
  }

  /** What Iceberg's listener is: hears of every snapshot that is made in this JVM. */
  @Override
  public Object invoke(Object proxy, Method method, Object[] arguments) {
    if (method.getName().equals("hashCode")) return System.identityHashCode(proxy);
    if (method.getName().equals("equals")) return proxy == arguments[0];
    if (!method.getName().equals("notify")) return "lakesieve";
    try {
      Object event = arguments[0];
      if (!"replace".equals(member(event, "operation"))) return null;
      String name = named((String) member(event, "tableName"));
      List<WrittenTables> hearing;
      synchronized (HEARING) {
        hearing = new ArrayList<>(HEARING);
      }
      for (WrittenTables each : hearing) each.reportRewrite(name);
    } catch (Throwable t) {
      warn(t);
    }
    return null;
  }

  @Override
  public void onSuccess(String name, QueryExecution query, long nanoseconds) {
    try {
      Set<String> tables = new LinkedHashSet<>();
      LogicalPlan plan = query.analyzed();
      if (WRITES.matcher(plan.getClass().getSimpleName()).find()) find(plan, tables, 0);
      report(tables);
    } catch (Throwable t) {
      warn(t);
    }
  }

  @Override
  public void onFailure(String name, QueryExecution query, Exception error) {}

  @Override
  public void onQueryStarted(StreamingQueryListener.QueryStartedEvent event) {}

  @Override
  public void onQueryProgress(StreamingQueryListener.QueryProgressEvent event) {
    try {
      Matcher sink = SINK.matcher(event.progress().sink().description());
      if (!sink.matches()) return;
      String kind = sink.group(1);
      String format = kind.equals("Delta") ? "delta" : kind.startsWith("File") ? "parquet" : "hudi";
      report(new LinkedHashSet<>(Arrays.asList(format + ":" + sink.group(2))));
    } catch (Throwable t) {
      warn(t);
    }
  }

  @Override
  public void onQueryTerminated(StreamingQueryListener.QueryTerminatedEvent event) {}

  /** Report one table; what fails in one session must not keep the others from hearing of it. */
  private void reportRewrite(String name) {
    try {
      report(new LinkedHashSet<>(Arrays.asList(name)));
    } catch (Throwable t) {
      warn(t);
    }
  }

  private void report(Set<String> tables) {
    if (!tables.isEmpty()) this.python.apply(String.join("\0", new ArrayList<>(tables)));
  }

  private static void warn(Throwable t) {
    LoggerFactory.getLogger("lakesieve").warn("no refresh after a write: " + t);
  }

  /** What a member of a command names. */
  private static void find(Object o, Set<String> out, int depth) throws Exception {
    if (o == null || depth > DEEPEST) return;
    if (o instanceof scala.Option) {
      if (((scala.Option) o).isDefined()) find(((scala.Option) o).get(), out, depth + 1);
    } else if (o instanceof CatalogTable) {
      add(FileScans.name(o), out);
    } else if (o instanceof DataSourceV2Relation) {
      add(name(((DataSourceV2Relation) o).table()), out);
    } else if (o instanceof Table) {
      add(name((Table) o), out);
    } else if (o instanceof LogicalRelation) {
      add(name((LogicalRelation) o), out);
    } else if (o.getClass().getSimpleName().equals("HoodieCatalogTable")) {
      find(member(o, "table"), out, depth + 1);
    } else if (o instanceof LogicalPlan) {
      members((LogicalPlan) o, out, depth);
    }
  }

  private static void members(LogicalPlan n, Set<String> out, int depth) throws Exception {
    String type = n.getClass().getSimpleName();
    if (type.equals("SaveIntoDataSourceCommand")) {
      saved(n, out);
      return;
    }
    if (type.equals("InsertIntoHadoopFsRelationCommand")) {
      scala.Option table = (scala.Option) member(n, "catalogTable");
      boolean parquet = member(n, "fileFormat").getClass().getSimpleName().equals("ParquetFileFormat");
      if (table.isDefined()) add(FileScans.name(table.get()), out);
      else if (parquet) add("parquet:" + (Path) member(n, "outputPath"), out);
      return;
    }
    if (type.equals("ResolvedTable")) {
      add(name((Table) member(n, "table")), out);
      return;
    }
    if (type.equals("ResolvedIdentifier")) {
      // of a table that is replaced by the rows of a query
      add(((CatalogPlugin) member(n, "catalog")).name() + "." + member(n, "identifier"), out);
      return;
    }
    List<Object> skipped = new ArrayList<>();
    for (String name : READ) {
      Object read = member(n, name);
      if (read != null) skipped.add(read);
    }
    scala.collection.Iterator it = ((Product) n).productIterator();
    while (it.hasNext()) {
      Object o = it.next();
      boolean read = false;
      for (Object each : skipped) read |= each == o;
      if (!read) find(o, out, depth + 1);
    }
  }

  /** The table of a format that Spark does not know itself, saved by its path. */
  private static void saved(LogicalPlan n, Set<String> out) throws Exception {
    scala.Option path = ((scala.collection.Map) member(n, "options")).get("path");
    if (!path.isDefined()) return;
    String source = member(n, "dataSource").getClass().getName().toLowerCase();
    if (source.contains("delta")) add("delta:" + path.get(), out);
    else if (source.contains("hudi")) add("hudi:" + path.get(), out);
  }

  private static String name(Table table) throws Exception {
    if (table.getClass().getSimpleName().equals("DeltaTableV2")) return "delta:" + member(table, "path");
    return named(table.name());
  }

  private static String named(String name) {
    return name.contains("/") ? "iceberg:" + name : name;
  }

  private static String name(LogicalRelation leaf) throws Exception {
    if (leaf.catalogTable().isDefined()) return FileScans.name(leaf.catalogTable().get());
    HadoopFsRelation relation = FileScans.relation(leaf);
    if (relation == null) return null;
    if (FileScans.isParquet(leaf)) return "parquet:" + FileScans.location(leaf);
    String index = relation.location().getClass().getSimpleName();
    if (index.startsWith("Hoodie")) return "hudi:" + relation.location().rootPaths().apply(0);
    Object path = member(relation.location(), "path");
    return path == null ? null : "delta:" + path;
  }

  private static void add(String name, Set<String> out) {
    if (name != null && !name.contains("\0")) out.add(name);
  }

  /** The value of a public method without parameters, or null where there is none. */
  private static Object member(Object owner, String name) throws Exception {
    try {
      return owner.getClass().getMethod(name).invoke(owner);
    } catch (NoSuchMethodException e) {
      return null;
    }
  }
}
