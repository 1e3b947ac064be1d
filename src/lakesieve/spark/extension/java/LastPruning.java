package lakesieve;

import java.nio.charset.StandardCharsets;
import java.util.Base64;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo;
import ${sql}.SparkSession;
import scala.Option;
import scala.Tuple3;
import scala.runtime.AbstractFunction1;

/** The table function that tells what the latest query of the session did, a row for each scan. */
public final class LastPruning extends AbstractFunction1 {
  private static final String NAME = "lakesieve_last_pruning";
  private static final String ROWS =
      "array<struct<table: string, files_total: bigint, files_read: bigint, uncovered: bigint, "
          + "indexes: array<string>, reasons: array<struct<code: string, detail: string>>, "
          + "predicate: string>>";

  /** What a session's extensions take. */
  public static Tuple3 described() {
    FunctionIdentifier name = new FunctionIdentifier(NAME, Option.empty());
    return new Tuple3(name, new ExpressionInfo(LastPruning.class.getName(), NAME), new LastPruning());
  }

  /** The plan of its rows. */
  @Override
  public Object apply(Object arguments) {
    SparkSession session = (SparkSession) SparkSession.active();
    PruningRule rule = SessionRule.of(session);
    byte[] report = (rule == null ? "[]" : rule.readReport()).getBytes(StandardCharsets.UTF_8);
    String text = "decode(unbase64('" + Base64.getEncoder().encodeToString(report) + "'), 'UTF-8')";
    try {
      return session
          .sessionState()
          .sqlParser()
          .parsePlan("SELECT inline(from_json(" + text + ", '" + ROWS + "'))");
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }
}
