package lakesieve.extension;

import java.nio.charset.StandardCharsets;
import java.util.Base64;
import lakesieve.check.SparkCheck;
import lakesieve.rule.PruningRule;
import lakesieve.spark.ClassicSessions;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.Function1;
import scala.Option;
import scala.Tuple3;

/**
 * The table function that shows what the latest query of the session skipped, with a row for each
 * scan.
 */
public final class LastPruning {
  private static final String NAME = "lakesieve_last_pruning";
  private static final String ROWS =
      "array<struct<table: string, files_total: bigint, files_read: bigint, uncovered: bigint, "
          + "indexes: array<string>, reasons: array<struct<code: string, detail: string>>, "
          + "predicate: string>>";

  private LastPruning() {}

  /**
   * Describe the function as a session's extensions take it.
   *
   * @param <A> the list of its arguments, another class in each version of Scala
   */
  public static <A>
      Tuple3<FunctionIdentifier, ExpressionInfo, Function1<A, LogicalPlan>> described() {
    return new Tuple3<>(
        new FunctionIdentifier(NAME, Option.empty()),
        new ExpressionInfo(LastPruning.class.getName(), NAME),
        arguments -> rows());
  }

  /** The plan of the rows, which contains the report as one JSON text. */
  private static LogicalPlan rows() {
    SparkSession session = ClassicSessions.active();
    PruningRule rule = SessionRule.of(session);
    byte[] report =
        (rule == null ? SparkCheck.report() : rule.readReport()).getBytes(StandardCharsets.UTF_8);
    // in base64, so that it needs no quoting
    String text = "decode(unbase64('" + Base64.getEncoder().encodeToString(report) + "'), 'UTF-8')";
    try {
      return ClassicSessions.state(session)
          .sqlParser()
          .parsePlan("SELECT inline(from_json(" + text + ", '" + ROWS + "'))");
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }
}
