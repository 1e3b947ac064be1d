package lakesieve.statements;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.List;
import lakesieve.spark.RowsCommand;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Attribute;

/** Runs a statement about indexes in Python. */
public final class StatementCommand extends RowsCommand {
  private static final long serialVersionUID = 1;

  /** A statement and its columns. They are one object, because copies of a plan share them. */
  record Content(IndexStatement statement, List<Attribute> columns) {}

  private final transient Content content;

  /** Create the command of a statement. */
  StatementCommand(IndexStatement statement) {
    this(new Content(statement, StatementRows.columns(statement.action())));
  }

  /** Create a copy. Catalyst calls this with the elements of the command. */
  public StatementCommand(Content content) {
    this.content = content;
  }

  @Override
  protected List<Attribute> attributes() {
    return content.columns();
  }

  @Override
  protected List<Row> rows(SparkSession spark) throws Exception {
    String text = StatementRunner.run(spark, content.statement().json());
    JsonNode answer = new ObjectMapper().readTree(text);
    JsonNode error = answer.get("error");
    if (error != null) {
      throw new StatementException(
          error.get("code").asText(), error.get("message").asText(), error.get("hint").asText());
    }
    return StatementRows.rows(content.statement().action(), answer.get("rows"));
  }

  /** The statement, for people who read plans. */
  @Override
  public String simpleString(int maxFields) {
    IndexStatement statement = content.statement();
    String index = statement.index() == null ? "" : statement.index() + " ";
    return "Lakesieve %s %son %s".formatted(statement.action(), index, statement.table());
  }

  @Override
  public int productArity() {
    return 1;
  }

  @Override
  public Object productElement(int n) {
    return content;
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof StatementCommand;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof StatementCommand command && command.content == content;
  }

  @Override
  public int hashCode() {
    return System.identityHashCode(content);
  }
}
