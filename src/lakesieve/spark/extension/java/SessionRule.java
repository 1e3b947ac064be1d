package lakesieve;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import ${sql}.SparkSession;
import org.slf4j.LoggerFactory;

/** Leaves plans as they are; at the first one, the session gets the pruning rule. */
public final class SessionRule extends Rule {
  // a line for each format: the class that tells whether it is there, its adapter, what it adds
  private static final String FORMATS = "formats.txt";
  private static final Map<Object, PruningRule> RULES = new WeakHashMap<>();

  private final SparkSession session;
  private final String version;
  private boolean done = false;

  /** Make it for a session; the version is that of lakesieve. */
  public SessionRule(SparkSession session, String version) {
    this.session = session;
    this.version = version;
  }

  /** The pruning rule of a session, or null. */
  public static PruningRule of(Object session) {
    synchronized (RULES) {
      return (PruningRule) RULES.get(session);
    }
  }

  /** The same plan. */
  @Override
  public TreeNode apply(TreeNode plan) {
    synchronized (this) {
      if (this.done) return plan;
      this.done = true;
    }
    try {
      install();
    } catch (Throwable t) {
      LoggerFactory.getLogger("lakesieve").warn("no files are skipped in this session: " + t, t);
    }
    return plan;
  }

  private void install() throws Exception {
    List<ScanAdapter> adapters = new ArrayList<>();
    List<String> additions = new ArrayList<>();
    ClassLoader loader = SessionRule.class.getClassLoader();
    for (String line : formats()) {
      String[] parts = line.split(" ");
      try {
        Class.forName(parts[0], false, loader);
      } catch (ClassNotFoundException e) {
        continue;
      }
      adapters.add((ScanAdapter) loader.loadClass(parts[1]).getConstructors()[0].newInstance());
      additions.add(parts.length > 2 ? parts[2] : "");
    }
    ScanAdapter[] all = (ScanAdapter[]) adapters.toArray(new ScanAdapter[0]);
    PruningRule rule = new PruningRule(new SessionPlanner(this.session, this.version), all, null);
    for (int i = 0; i < all.length; i++) {
      if (((String) additions.get(i)).isEmpty()) continue;
      for (java.lang.reflect.Method method : loader.loadClass((String) additions.get(i)).getMethods()) {
        if (method.getName().equals("install")) method.invoke(null, this.session, rule, all[i]);
      }
    }
    rule.setActive(true);
    synchronized (RULES) {
      RULES.put(this.session, rule);
    }
    // a session that was made of another one has the rule of that
    List<Object> rules = new ArrayList<>();
    scala.collection.Iterator known = this.session.experimental().extraOptimizations().iterator();
    while (known.hasNext()) {
      Object other = known.next();
      if (!other.getClass().getName().equals(PruningRule.class.getName())) rules.add(other);
    }
    rules.add(rule);
    ${Seq} changed = (${Seq}) scala.collection.JavaConverters.asScalaBuffer(rules).toSeq();
    this.session.experimental().extraOptimizations_$eq(changed);
  }

  private static List<String> formats() throws Exception {
    List<String> lines = new ArrayList<>();
    BufferedReader reader =
        new BufferedReader(
            new InputStreamReader(
                SessionRule.class.getResourceAsStream(FORMATS), StandardCharsets.UTF_8));
    try {
      String line = reader.readLine();
      while (line != null) {
        lines.add(line);
        line = reader.readLine();
      }
    } finally {
      reader.close();
    }
    return lines;
  }
}
