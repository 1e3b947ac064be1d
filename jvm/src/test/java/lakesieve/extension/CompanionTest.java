package lakesieve.extension;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import lakesieve.rule.NoAnswerException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** When the child of the driver is started, and started again. */
@DisabledOnOs(OS.WINDOWS)
@Timeout(30)
class CompanionTest {
  private static final String STAYS = "exec sleep 60";

  private static NoAnswerException refusal(String python) {
    return assertThrows(NoAnswerException.class, () -> Companion.process(python, "1.2"));
  }

  /** An interpreter is tried twice at once, then not before some time has passed. */
  @Test
  void pausesBetweenStarts() {
    String[] refusals = new String[3];
    for (int i = 0; i < 3; i++) refusals[i] = refusal("/nowhere/python").getMessage();

    for (String each : refusals) assertTrue(each.contains("/nowhere/python"), each);
    assertFalse(refusals[0].contains("tried again"));
    assertFalse(refusals[1].contains("tried again"));
    assertTrue(refusals[2].endsWith("; next attempt in 1 s"), refusals[2]);
  }

  /** There is one child for all; one that ended is replaced at once, the first time. */
  @Test
  void oneChildForAll(@TempDir Path folder) throws Exception {
    String python = ChildScripts.script(folder, STAYS);

    CompanionProcess first = Companion.process(python, "1.2");
    assertSame(first, Companion.process(python, "1.2"));
    first.end("it failed");
    CompanionProcess second = Companion.process(python, "1.2");
    assertNotSame(first, second);
    assertNull(second.ended());

    second.end("it failed again");
    assertTrue(refusal(python).getMessage().contains("it failed again; next attempt in 1 s"));
  }

  /** Another interpreter takes the place of the one before, without a pause. */
  @Test
  void anotherInterpreter(@TempDir Path folder) throws Exception {
    refusal("/nowhere/python");
    CompanionProcess first = Companion.process(ChildScripts.script(folder, STAYS), "1.2");

    CompanionProcess second = Companion.process(ChildScripts.script(folder, STAYS), "1.2");

    assertEquals("another interpreter was set", first.ended());
    assertNull(second.ended());
    second.end("the test is over");
  }
}
