package lakesieve.rule;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

/** How long a query waits, with the settings that Spark has without a session. */
class PlanningTimeTest {
  /** Filters of scans and keys of joins have a limit each, which their own answers use up. */
  @Test
  void filtersAndKeysHaveALimitEach() {
    PlanningTime time = new PlanningTime();
    time.took(false, 500_000_000L);
    time.took(true, 3_000_000_000L);

    assertEquals(1.5, time.remaining(false), 1e-9);
    assertEquals(17.0, time.remaining(true), 1e-9);
  }

  /** A query that has waited too long does not wait again. */
  @Test
  void nothingIsLeftBelowZero() {
    PlanningTime time = new PlanningTime();
    time.took(false, 5_000_000_000L);

    assertEquals(0.0, time.remaining(false));
  }
}
