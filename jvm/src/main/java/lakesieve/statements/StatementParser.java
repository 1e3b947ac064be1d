package lakesieve.statements;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import lakesieve.spark.ClassicSessions;
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

  private final SparkSession session;

  private StatementParser(SparkSession session, ParserInterface behind) {
    super(behind);
    this.session = session;
  }

  /**
   * Return a parser in front of another one. A version of Spark whose parsers have methods that are
   * unknown here keeps its own parser.
   */
  public static ParserInterface inFront(SparkSession session, ParserInterface behind) {
    return hasAllMethods() ? new StatementParser(session, behind) : behind;
  }

  /**
   * Let a session that runs already understand the statements. Spark offers no way to do so, hence
   * a private field is changed.
   *
   * @return false if the parsers of this version of Spark have unknown methods
   */
  public static boolean install(SparkSession session) {
    if (!hasAllMethods()) return false;
    SessionState state = ClassicSessions.state(session);
    ParserInterface present = state.sqlParser();
    if (!understands(present)) {
      PrivateMembers.set(state, SessionState.class, PARSER, inFront(session, present));
    }
    return true;
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

  /** Return whether a parser understands the statements itself or passes them to one that does. */
  private static boolean understands(ParserInterface parser) {
    try {
      parser.parsePlan("SHOW INDEXES ON lakesieve USING lakesieve");
      return true;
    } catch (Exception e) {
      return false;
    }
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
