package lakesieve.statements;

import org.apache.spark.QueryContext;
import org.apache.spark.sql.AnalysisException;
import scala.Option;
import scala.collection.immutable.Map$;

/** The error of a SQL statement. Its Spark error class is the stable code of lakesieve's error. */
public final class StatementException extends AnalysisException {
  private static final long serialVersionUID = 1;

  /**
   * Create the error.
   *
   * @param code the stable code
   * @param message what is wrong
   * @param hint what to do next, or an empty text
   */
  public StatementException(String code, String message, String hint) {
    super(
        "[%s] %s".formatted(code, (message + " " + hint).strip()),
        Option.empty(),
        Option.empty(),
        Option.empty(),
        Option.apply(code),
        Map$.MODULE$.empty(),
        new QueryContext[0]);
  }
}
