package lakesieve;

import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.spark.sql.SparkSessionExtensions;
import org.junit.jupiter.api.Test;

/** The class that {@code spark.sql.extensions} names. */
class LakesieveExtensionsTest {
  /** Classes outside of a jar do not know their version, so they change no session. */
  @Test
  void classesWithoutAJarLeaveSessionsAlone() {
    SparkSessionExtensions extensions = new SparkSessionExtensions();

    new LakesieveExtensions().apply(extensions);

    assertNull(LakesieveExtensions.version());
    assertTrue(extensions.buildResolutionRules(null).isEmpty());
  }
}
