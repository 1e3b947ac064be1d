package lakesieve.statements;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** How the work of a statement hears that the statement was cancelled. */
@Timeout(30)
class RunningStatementTest {
  private static final Runnable NOTHING = () -> {};

  /** The result of the work and its error arrive as they are. */
  @Test
  void returnsWhatTheWorkReturns() throws Exception {
    assertEquals("rows", RunningStatement.run(() -> "rows", NOTHING));
    IllegalStateException error = new IllegalStateException("broken");
    assertEquals(
        error,
        assertThrows(
            IllegalStateException.class,
            () ->
                RunningStatement.run(
                    () -> {
                      throw error;
                    },
                    NOTHING)));
  }

  /** Work that swallows interruptions still hears that its statement was cancelled. */
  @Test
  void remembersAnInterruption() throws Exception {
    CountDownLatch cancelled = new CountDownLatch(3);
    AtomicInteger before = new AtomicInteger();
    Thread client = Thread.currentThread();

    String result =
        RunningStatement.run(
            () -> {
              if (RunningStatement.isCancelled()) before.incrementAndGet();
              Thread.interrupted();
              client.interrupt();
              // the work goes on until its jobs were cancelled several times
              cancelled.await();
              Thread.interrupted();
              return RunningStatement.isCancelled() ? "cancelled" : "done";
            },
            cancelled::countDown);

    assertEquals("cancelled", result);
    assertEquals(0, before.get());
    // code behind the statement hears of the interruption, too
    assertTrue(Thread.interrupted());
  }

  /** Without a thread of its own, the work hears of interruptions of the statement's thread. */
  @Test
  void knowsInterruptionsOfTheThread() {
    assertFalse(RunningStatement.isCancelled());
    Thread.currentThread().interrupt();
    assertTrue(RunningStatement.isCancelled());
    assertTrue(Thread.interrupted());
  }
}
