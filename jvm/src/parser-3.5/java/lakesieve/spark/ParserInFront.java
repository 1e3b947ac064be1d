package lakesieve.spark;

import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import scala.collection.Seq;

/** A parser in front of another one, with the methods that only some versions of Spark have. */
public abstract class ParserInFront extends ForwardingParser {
  /** Create a parser in front of another one. */
  protected ParserInFront(ParserInterface behind) {
    super(behind);
  }

  @Override
  public final Seq<String> parseMultipartIdentifier(String text) throws ParseException {
    return behind.parseMultipartIdentifier(text);
  }
}
