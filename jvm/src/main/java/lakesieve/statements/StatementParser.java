package lakesieve.statements;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Collections;
import java.util.Set;
import java.util.WeakHashMap;
import lakesieve.spark.ClassicSessions;
import lakesieve.spark.Extensions;
import lakesieve.spark.ParserInFront;
import lakesieve.spark.PrivateMembers;
import lakesieve.spark.Unchecked;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.internal.SessionState;
import org.apache.spark.sql.internal.VariableSubstitution;

/**
 * A parser in front of another one, which adds statements about indexes. All other statements go to
 * the other parser as they are.
 */
public final class StatementParser extends ParserInFront {
  // private field of SessionState
  private static final String PARSER = "sqlParser";
  // sessions that understand the statements
  private static final Set<SparkSession> PARSING = sessions();
  // sessions that shall understand them, with a state or without one
  private static final Set<SparkSession> INSTALLED = sessions();

  private final SparkSession session;

  private StatementParser(SparkSession session, ParserInterface behind) {
    super(behind);
    this.session = session;
  }

  /**
   * Return a parser in front of another one. A version of Spark whose parsers have methods that are
   * unknown here keeps its own parser, and so does a session that has such a parser already.
   */
  public static ParserInterface inFront(SparkSession session, ParserInterface behind) {
    boolean added = hasAllMethods() && PARSING.add(session);
    return added ? new StatementParser(session, behind) : behind;
  }

  /**
   * Let a session that runs already understand the statements. Spark offers no way to do so once
   * the session has its state, hence a private field is changed.
   *
   * @return false if the parsers of this version of Spark have unknown methods
   */
  public static boolean install(SparkSession session) {
    if (!hasAllMethods()) return false;
    INSTALLED.add(session);
    if (!ClassicSessions.hasState(session)) {
      Extensions.once(
          session, "statements", extensions -> extensions.injectParser(StatementParser::ofState));
    }
    // another thread may have made the state without the parser
    if (ClassicSessions.hasState(session)) {
      SessionState state = ClassicSessions.state(session);
      ParserInterface parser = inFront(session, state.sqlParser());
      PrivateMembers.set(state, SessionState.class, PARSER, parser);
    }
    return true;
  }

  /** Return the parser for the state of a session, which Spark is making. */
  private static ParserInterface ofState(SparkSession session, ParserInterface behind) {
    return INSTALLED.contains(session) ? inFront(session, behind) : behind;
  }

  private static Set<SparkSession> sessions() {
    return Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap<>()));
  }

  /** Return whether this class passes on every method of parsers of the running Spark. */
  private static boolean hasAllMethods() {
    for (Method method : ParserInterface.class.getMethods()) {
      if (Modifier.isStatic(method.getModifiers())) continue;
      try {
        Method own = StatementParser.class.getMethod(method.getName(), method.getParameterTypes());
        if (own.getDeclaringClass().isInterface()) return false;
      } catch (NoSuchMethodException e) {
        return false;
      }
    }
    return true;
  }

  @Override
  protected LogicalPlan plan(String sql) {
    if (!StatementReader.isCandidate(sql)) return null;
    IndexStatement statement;
    try {
      statement = StatementReader.read(new VariableSubstitution().substitute(sql), this::literal);
    } catch (StatementException e) {
      // such as DESCRIBE index, about a table of this name
      if (isUnderstood(sql)) return null;
      throw Unchecked.<RuntimeException>of(e);
    }
    if (statement == null || (!statement.named() && isOfAnother(sql))) return null;
    return new StatementCommand(statement);
  }

  private boolean isUnderstood(String sql) {
    try {
      behind.parsePlan(sql);
      return true;
    } catch (Exception e) {
      return false;
    }
  }

  /** Return the value of a literal as a text, or null if it is something else. */
  private String literal(String text) {
    try {
      if (!(behind.parseExpression(text) instanceof Literal literal)) return null;
      return literal.value() == null ? null : literal.value().toString();
    } catch (Exception e) {
      return null;
    }
  }

  /**
   * Return whether the statement works without lakesieve. Hudi has the same statements for its own
   * indexes, and Spark has {@code DROP INDEX} for tables that manage their indexes.
   */
  private boolean isOfAnother(String sql) {
    LogicalPlan plan;
    try {
      plan = behind.parsePlan(sql);
      plan = ClassicSessions.state(session).analyzer().execute(plan);
    } catch (Exception e) {
      return false;
    }
    return OtherIndexes.manages(plan);
  }
}
