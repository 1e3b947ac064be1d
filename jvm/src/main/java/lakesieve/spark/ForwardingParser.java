package lakesieve.spark;

import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/**
 * A parser in front of another one, with the methods that parsers of all versions of Spark have.
 */
abstract class ForwardingParser implements ParserInterface {
  /** The parser behind this one. */
  protected final ParserInterface behind;

  ForwardingParser(ParserInterface behind) {
    this.behind = behind;
  }

  /** Return the plan of a statement, or null to leave it to the parser behind this one. */
  protected abstract LogicalPlan plan(String sql);

  @Override
  public final LogicalPlan parsePlan(String sql) throws ParseException {
    LogicalPlan plan = plan(sql);
    return plan == null ? behind.parsePlan(sql) : plan;
  }

  @Override
  public final Expression parseExpression(String text) throws ParseException {
    return behind.parseExpression(text);
  }

  @Override
  public final TableIdentifier parseTableIdentifier(String text) throws ParseException {
    return behind.parseTableIdentifier(text);
  }

  @Override
  public final FunctionIdentifier parseFunctionIdentifier(String text) throws ParseException {
    return behind.parseFunctionIdentifier(text);
  }

  @Override
  public final LogicalPlan parseQuery(String sql) throws ParseException {
    return behind.parseQuery(sql);
  }

  @Override
  public final StructType parseTableSchema(String text) throws ParseException {
    return behind.parseTableSchema(text);
  }

  @Override
  public final DataType parseDataType(String text) throws ParseException {
    return behind.parseDataType(text);
  }
}
