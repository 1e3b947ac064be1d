package lakesieve;

import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.slf4j.LoggerFactory;
import scala.runtime.AbstractFunction1;

/**
 * Has the sessions of an application skip files: {@code spark.sql.extensions} names this class.
 *
 * <p>Mentions nothing that differs between versions of Spark.
 */
public final class LakesieveExtensions extends AbstractFunction1 {
  private static final String SPARK = "${line}";

  /** Add to the sessions what they need. */
  @Override
  public Object apply(Object given) {
    SparkSessionExtensions extensions = (SparkSessionExtensions) given;
    String running = org.apache.spark.package$.MODULE$.SPARK_VERSION();
    if (!running.startsWith(SPARK + ".")) {
      LoggerFactory.getLogger("lakesieve")
          .warn(
              "no files are skipped: this jar of lakesieve is for Spark "
                  + SPARK
                  + ", here runs "
                  + running
                  + "; write another one with lakesieve spark-jar");
      return scala.runtime.BoxedUnit.UNIT;
    }
    String version = LakesieveExtensions.class.getPackage().getImplementationVersion();
    extensions.injectResolutionRule(new Rules(version));
    extensions.injectTableFunction(LastPruning.described());
    return scala.runtime.BoxedUnit.UNIT;
  }

  /** Makes the rule of each session. */
  private static final class Rules extends AbstractFunction1 {
    private final String version;

    Rules(String version) {
      this.version = version;
    }

    @Override
    public Object apply(Object session) {
      return new SessionRule((${sql}.SparkSession) session, this.version);
    }
  }
}
