package lakesieve.build;

import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;
import lakesieve.folders.FileScans;
import org.apache.spark.sql.catalyst.analysis.ResolvedIdentifier;
import org.apache.spark.sql.catalyst.analysis.ResolvedTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.SaveIntoDataSourceCommand;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import scala.Option;

/**
 * Finds the tables that a command writes to, in its analyzed plan. A table is named as users name
 * it, or by its format and path: {@code delta:/lake/t}.
 */
final class WriteTargets {
  // a command whose class name contains none of these words writes no rows
  private static final Pattern WRITES =
      Pattern.compile(
          "Append|Overwrite|Replace|Write|Insert|Merge|Update|Delete|Save|AsSelect|Optimize");
  // members of commands that are only read
  private static final List<String> READ = List.of("query", "source", "sourceTable");
  private static final int DEEPEST = 20;

  private final Set<String> names = new LinkedHashSet<>();

  private WriteTargets() {}

  /** Return the names of the tables; none for a plan that writes no rows. */
  static Set<String> of(LogicalPlan plan) throws ReflectiveOperationException {
    WriteTargets targets = new WriteTargets();
    if (WRITES.matcher(plan.getClass().getSimpleName()).find()) targets.find(plan, 0);
    return targets.names;
  }

  /** The table of a catalog by its name, which is a path in a Hadoop catalog. */
  static String named(String name) {
    return name.contains("/") ? "iceberg:" + name : name;
  }

  /** Find the tables that a member of a command names. */
  private void find(Object member, int depth) throws ReflectiveOperationException {
    if (member == null || depth > DEEPEST) return;
    if (member instanceof Option<?> option) {
      if (option.isDefined()) find(option.get(), depth + 1);
    } else if (member instanceof CatalogTable table) {
      add(FileScans.name(table));
    } else if (member instanceof DataSourceV2Relation relation) {
      add(name(relation.table()));
    } else if (member instanceof Table table) {
      add(name(table));
    } else if (member instanceof LogicalRelation relation) {
      add(name(relation));
    } else if (member.getClass().getSimpleName().equals("HoodieCatalogTable")) {
      find(member(member, "table"), depth + 1);
    } else if (member instanceof LogicalPlan plan) {
      findIn(plan, depth);
    }
  }

  private void findIn(LogicalPlan plan, int depth) throws ReflectiveOperationException {
    if (plan instanceof SaveIntoDataSourceCommand save) {
      addSaved(save);
    } else if (plan instanceof InsertIntoHadoopFsRelationCommand insert) {
      addInserted(insert);
    } else if (plan instanceof ResolvedTable resolved) {
      add(name(resolved.table()));
    } else if (plan instanceof ResolvedIdentifier resolved) {
      // this is in the plan of a table that is replaced by the rows of a query
      add(resolved.catalog().name() + "." + resolved.identifier());
    } else {
      findInMembers(plan, depth);
    }
  }

  private void findInMembers(LogicalPlan plan, int depth) throws ReflectiveOperationException {
    Set<Object> read = Collections.newSetFromMap(new IdentityHashMap<>());
    for (String name : READ) read.add(member(plan, name));
    for (int i = 0; i < plan.productArity(); i++) {
      Object member = plan.productElement(i);
      if (!read.contains(member)) find(member, depth + 1);
    }
  }

  /** Add the table of a format that Spark does not include, saved by its path. */
  private void addSaved(SaveIntoDataSourceCommand save) {
    Option<String> path = save.options().get("path");
    if (path.isEmpty()) return;
    String source = save.dataSource().getClass().getName().toLowerCase(Locale.ROOT);
    if (source.contains("delta")) {
      add("delta:" + path.get());
    } else if (source.contains("hudi")) {
      add("hudi:" + path.get());
    }
  }

  private void addInserted(InsertIntoHadoopFsRelationCommand insert) {
    if (insert.catalogTable().isDefined()) {
      add(FileScans.name(insert.catalogTable().get()));
    } else if (insert.fileFormat().getClass().getSimpleName().equals("ParquetFileFormat")) {
      add("parquet:" + insert.outputPath());
    }
  }

  private void add(String name) {
    if (name != null && !name.contains("\0")) names.add(name);
  }

  private static String name(Table table) throws ReflectiveOperationException {
    if (table.getClass().getSimpleName().equals("DeltaTableV2")) {
      return "delta:" + member(table, "path");
    }
    // row-level commands write to a wrapper of the table
    Table written = member(table, "table") instanceof Table wrapped ? wrapped : table;
    String name = named(table.name());
    // a path cannot name a branch
    return name.contains("/") || !(member(written, "branch") instanceof String branch)
        ? name
        : name + ".`branch_" + branch.replace("`", "``") + "`";
  }

  private static String name(LogicalRelation leaf) throws ReflectiveOperationException {
    if (leaf.catalogTable().isDefined()) return FileScans.name(leaf.catalogTable().get());
    HadoopFsRelation relation = FileScans.relation(leaf);
    if (relation == null) return null;
    if (FileScans.isParquet(leaf)) return "parquet:" + FileScans.location(leaf);
    String index = relation.location().getClass().getSimpleName();
    if (index.startsWith("Hoodie")) return "hudi:" + relation.location().rootPaths().apply(0);
    Object path = member(relation.location(), "path");
    return path == null ? null : "delta:" + path;
  }

  /**
   * The value of a public method without parameters, or null if there is no such method. It is for
   * classes of formats that a session may not have.
   */
  private static Object member(Object owner, String name) throws ReflectiveOperationException {
    try {
      return owner.getClass().getMethod(name).invoke(owner);
    } catch (NoSuchMethodException e) {
      return null;
    }
  }
}
