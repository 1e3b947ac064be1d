package lakesieve;

import lakesieve.check.TestedVersions;
import lakesieve.extension.LastPruning;
import lakesieve.extension.SessionRule;
import lakesieve.statements.StatementParser;
import org.apache.spark.sql.SparkSessionExtensions;
import org.slf4j.LoggerFactory;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * Makes the sessions of an application skip files. {@code spark.sql.extensions} names this class.
 */
public final class LakesieveExtensions
    extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
  /** The version of lakesieve in this jar; null if the classes do not come from a jar. */
  public static String version() {
    return LakesieveExtensions.class.getPackage().getImplementationVersion();
  }

  /** Add the pruning rule, the function that reports it, and statements to each session. */
  @Override
  public BoxedUnit apply(SparkSessionExtensions extensions) {
    String refusal = refusal();
    if (refusal == null) {
      String version = version();
      extensions.injectResolutionRule(session -> new SessionRule(session, version));
      extensions.injectTableFunction(LastPruning.described());
      extensions.injectParser(StatementParser::inFront);
    } else {
      LoggerFactory.getLogger("lakesieve").warn("no files are skipped: {}", refusal);
    }
    return BoxedUnit.UNIT;
  }

  /** True on a version of Spark that the tests of this jar ran on. */
  public static boolean isTested() {
    return TestedVersions.ofJar().contains(running());
  }

  /** The versions of Spark that the tests of this jar ran on, newest first. */
  public static String testedOn() {
    return TestedVersions.ofJar().toString();
  }

  /** Return why these classes do not fit the running version of Spark, or null if they do. */
  private static String refusal() {
    if (version() == null) {
      return "these classes of lakesieve do not come from a jar, so their version is unknown";
    }
    TestedVersions tested = TestedVersions.ofJar();
    if (tested.contains(running()) || tested.mayBeTriedOn(running())) return null;
    return "this jar of lakesieve is for Spark %s, but this is Spark %s; write another one with lakesieve spark-jar"
        .formatted(tested, running());
  }

  private static String running() {
    return org.apache.spark.package$.MODULE$.SPARK_VERSION();
  }
}
