package lakesieve.extension;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import lakesieve.rule.NoAnswerException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** The driver's end of the pipes to the child: whatever the child does, callers get an answer. */
@DisabledOnOs(OS.WINDOWS)
@Timeout(30)
class CompanionProcessTest {
  private static final long PATIENCE = 20_000;
  private static final String STAYS = "exec sleep 60";

  @TempDir Path folder;
  private final List<CompanionProcess> started = new ArrayList<>();

  @AfterEach
  void endAll() {
    for (CompanionProcess process : started) process.end("the test is over");
  }

  private CompanionProcess start(String lines) throws IOException {
    return start(lines, Duration.ofSeconds(10));
  }

  private CompanionProcess start(String lines, Duration silence) throws IOException {
    String python = ChildScripts.script(folder, lines);
    started.add(new CompanionProcess(python, "1.2", silence));
    return started.get(started.size() - 1);
  }

  /** Have the child write bytes, once it has read some of what was sent to it. */
  private String answering(int read, byte[]... frames) throws IOException {
    StringBuilder lines = new StringBuilder("head -c " + read + " > requests\n");
    for (byte[] frame : frames) {
      Path file = Files.createTempFile(folder, "frame", "");
      Files.write(file, frame);
      lines.append("cat '").append(file).append("'\n");
    }
    return lines.append(STAYS).toString();
  }

  private static NoAnswerException refusal(CompanionProcess process, long millis) {
    return assertThrows(NoAnswerException.class, () -> process.ask("a request", millis));
  }

  private static CompletableFuture<String> asking(CompanionProcess process, String request) {
    return CompletableFuture.supplyAsync(() -> process.ask(request, PATIENCE));
  }

  private static NoAnswerException failure(CompletableFuture<String> asked) {
    var failed = assertThrows(ExecutionException.class, () -> asked.get(20, TimeUnit.SECONDS));
    return (NoAnswerException) failed.getCause();
  }

  /** The child is the module of lakesieve, told its version, and reads frames as documented. */
  @Test
  void requestsAreFrames() throws Exception {
    byte[] opening = ChildScripts.frame(0, CompanionProcess.OPEN, "session\n{}");
    byte[] request = ChildScripts.frame(1, CompanionProcess.PLAN, "Grüße");
    byte[] answer = ChildScripts.frame(1, ChildScripts.ANSWER, "日本 \uD83D\uDE00");
    var process =
        start("echo \"$@\" > arguments\n" + answering(opening.length + request.length, answer));

    process.send(CompanionProcess.OPEN, "session\n{}");

    assertEquals("日本 \uD83D\uDE00", process.ask("Grüße", PATIENCE));
    byte[] read = Files.readAllBytes(folder.resolve("requests"));
    byte[] both = new byte[opening.length + request.length];
    System.arraycopy(opening, 0, both, 0, opening.length);
    System.arraycopy(request, 0, both, opening.length, request.length);
    assertArrayEquals(both, read);
    assertEquals(
        "-P -m lakesieve.planner.companion 1.2\n", Files.readString(folder.resolve("arguments")));
    assertNull(process.ended());
  }

  /** Answers come in any order, and each thread gets its own one; a failure concerns one alone. */
  @Test
  void answersGoToTheirRequests() throws Exception {
    int bytes = 3 * ChildScripts.frame(0, 0, "0").length;
    var process =
        start(
            answering(
                bytes,
                ChildScripts.frame(3, ChildScripts.ANSWER, "third"),
                ChildScripts.frame(77, ChildScripts.ANSWER, "nobody waits for this"),
                ChildScripts.frame(2, ChildScripts.FAILURE, "KeyError: 2"),
                ChildScripts.frame(1, ChildScripts.ANSWER, "first")));

    List<CompletableFuture<String>> asked = new ArrayList<>();
    for (int i = 1; i <= 3; i++) asked.add(asking(process, String.valueOf(i)));

    List<String> answers = new ArrayList<>();
    for (var each : asked) answers.add(each.handle((text, e) -> text).get(20, TimeUnit.SECONDS));
    // the numbers are given in the order of the threads
    assertEquals(
        List.of("first", "third"), answers.stream().filter(a -> a != null).sorted().toList());
    var failed = asked.stream().filter(CompletableFuture::isCompletedExceptionally).toList();
    assertEquals(1, failed.size());
    assertEquals("companion-failed", failure(failed.get(0)).code);
    assertTrue(failure(failed.get(0)).getMessage().contains("KeyError: 2"));
    assertNull(process.ended());
    assertFalse(process.isProven());
  }

  /** What is no frame ends the child, and all who wait. */
  @Test
  void garbageEndsTheChild() throws Exception {
    var process = start("echo this is no answer at all, but long enough\n" + STAYS);

    assertTrue(
        refusal(process, PATIENCE)
            .getMessage()
            .contains("it wrote something that is not an answer"));
    assertEquals("it wrote something that is not an answer", process.ended());
    assertTrue(
        refusal(process, PATIENCE)
            .getMessage()
            .contains("it wrote something that is not an answer"));
  }

  /** A frame that is too large, or of negative length, is not read. */
  @Test
  void impossibleLengthsEndTheChild() throws Exception {
    for (byte first : new byte[] {(byte) 0xff, 0x7f}) {
      byte[] frame = ChildScripts.frame(1, ChildScripts.ANSWER, "text");
      frame[4] = first;
      var process = start(answering(1, frame));
      assertTrue(
          refusal(process, PATIENCE)
              .getMessage()
              .contains("it wrote something that is not an answer"));
    }
  }

  /** Nobody waits longer than is given. */
  @Test
  void waitsEnd() throws Exception {
    var process = start(STAYS);

    NoAnswerException refusal = refusal(process, 100);

    assertEquals("planning-timeout", refusal.code);
    assertEquals("no answer in 0.1 s", refusal.getMessage());
    assertNull(process.ended());
  }

  /** The driver ends a child that has been silent for too long, even when no request waits. */
  @Test
  void silenceEndsTheChild() throws Exception {
    var process = start(STAYS, Duration.ofMillis(300));

    assertEquals("planning-timeout", refusal(process, 10).code);
    assertNull(process.ended());
    Thread.sleep(350);
    assertEquals("planning-timeout", refusal(process, 10).code);

    assertEquals("it was silent for 0 s", process.ended());
    assertEquals("companion-failed", refusal(process, PATIENCE).code);
  }

  /** Time in which nothing was asked is no silence. */
  @Test
  void restIsNoSilence() throws Exception {
    int bytes = ChildScripts.frame(1, CompanionProcess.PLAN, "a request").length;
    byte[] answer = ChildScripts.frame(1, ChildScripts.ANSWER, "done");
    var process = start(answering(bytes, answer), Duration.ofMillis(300));

    assertEquals("done", process.ask("a request", PATIENCE));
    Thread.sleep(350);
    refusal(process, 10);

    assertNull(process.ended());
    assertTrue(process.isProven());
  }

  /** The last line that the child wrote says why it ended, without what a terminal would obey. */
  @Test
  void theLastLineSaysWhy() throws Exception {
    var process = start("printf 'one\\nNo module \\033[31m named lakesieve\\n' >&2; exit 3");

    String message = refusal(process, PATIENCE).getMessage();

    assertTrue(message.endsWith("it ended: 3, No module ?[31m named lakesieve"), message);
  }

  /** A child that does not read holds nobody up, and who waits is told why it was ended. */
  @Test
  void fullPipesHoldNobodyUp() throws Exception {
    var process = start(STAYS);
    String large = "x".repeat(1 << 20);

    for (int i = 0; i < 4; i++) process.send(CompanionProcess.OPEN, large);
    var asked = asking(process, large);
    process.end("another interpreter was set");

    assertTrue(failure(asked).getMessage().endsWith("another interpreter was set"));
    process.end("a later reason");
    assertEquals("another interpreter was set", process.ended());
  }

  /** A caller that is interrupted waits no longer, and stays interrupted. */
  @Test
  void interruptsAreKept() throws Exception {
    var process = start(STAYS);
    var kept = new AtomicBoolean();
    var thread =
        new Thread(
            () -> {
              NoAnswerException refusal = refusal(process, PATIENCE);
              kept.set(
                  refusal.getMessage().endsWith("interrupted")
                      && Thread.currentThread().isInterrupted());
            });

    thread.start();
    thread.interrupt();
    thread.join(PATIENCE);

    assertTrue(kept.get());
    assertNull(process.ended());
  }

  /** An interpreter that is not there is an error of the start. */
  @Test
  void noInterpreter() {
    var failure =
        assertThrows(IOException.class, () -> new CompanionProcess("/nowhere/python", "1.2"));
    assertNotNull(failure.getMessage());
    assertTrue(failure.getMessage().contains("/nowhere/python"));
  }
}
