package lakesieve.check;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Numbers of Spark's versions, beside those in the manifest of a jar. */
class TestedVersionsTest {
  /** A version belongs to its line, whoever built it, and 4.10 is not 4.1. */
  @Test
  void testedVersions() {
    TestedVersions tested = new TestedVersions("4.2 4.1 newer");
    assertTrue(tested.contains("4.1.3"));
    assertTrue(tested.contains("4.2.0-vendor-1"));
    assertFalse(tested.contains("4.10.0"));
    assertEquals("4.2, 4.1", tested.toString());
  }

  /** The jar of the newest version is tried on what is newer than all that it was tested on. */
  @Test
  void newerVersions() {
    TestedVersions newest = new TestedVersions("4.2 4.1 newer");
    assertTrue(newest.mayBeTriedOn("4.10.0"));
    assertTrue(newest.mayBeTriedOn("5.0.0"));
    assertFalse(newest.mayBeTriedOn("4.0.4"));
    assertFalse(newest.mayBeTriedOn("3.5.9"));
  }

  /** No other jar is, nor are classes that come from no jar. */
  @Test
  void otherJars() {
    assertFalse(new TestedVersions("4.0").mayBeTriedOn("4.1.0"));
    assertFalse(new TestedVersions("").contains("4.1.0"));
    assertFalse(new TestedVersions("").mayBeTriedOn("4.1.0"));
  }
}
