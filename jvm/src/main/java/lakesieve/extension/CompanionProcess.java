package lakesieve.extension;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import lakesieve.rule.NoAnswerException;

/**
 * One Python child process, which answers the requests of all sessions and threads over its pipes.
 *
 * <p>The frames on the pipes are specified in {@code
 * docs/design/0030-the-protocol-between-jvm-and-python.md}.
 *
 * <p>Three threads serve the pipes: one writes requests, one reads answers, and one copies the
 * child's error output into the driver's log.
 */
public final class CompanionProcess {
  /** The reason code of a query if the child process fails. */
  public static final String FAILED = "companion-failed";

  /** A message that opens a session: name, newline, settings as JSON. The child does not answer. */
  public static final int OPEN = 1;

  /** A request of the pruning rule: name of the session, newline, request. */
  public static final int PLAN = 2;

  private static final int MARK = 0x4c4b5356;
  private static final int HEAD = 17; // bytes of a frame before its text
  private static final int ANSWER = 0;
  private static final int LARGEST = 1 << 30;
  private static final Duration SILENCE = Duration.ofSeconds(10);

  private final Process process;
  private final ChildLog log;
  // the driver ends the child if it sends nothing for this long while requests are open
  private final long silenceNanos;
  private final BlockingQueue<byte[]> frames = new LinkedBlockingQueue<>();
  private final Map<Long, CompletableFuture<String>> waiting = new ConcurrentHashMap<>();
  private final AtomicLong numbers = new AtomicLong();
  private final long started = System.nanoTime();
  // requests without an answer, including those whose caller no longer waits
  private int open = 0;
  private long silentSince = 0;
  private volatile boolean answered = false;
  private volatile String ended;

  /**
   * Start the child.
   *
   * @param python the interpreter
   * @param version the version of lakesieve; the child must have the same version
   */
  public CompanionProcess(String python, String version) throws IOException {
    this(python, version, SILENCE);
  }

  CompanionProcess(String python, String version, Duration silence) throws IOException {
    silenceNanos = silence.toNanos();
    // -P: do not load modules from the driver's current folder
    process =
        new ProcessBuilder(python, "-P", "-m", "lakesieve.planner.companion", version).start();
    log = ChildLog.of(process.errorReader(StandardCharsets.UTF_8), "companion");
    start("writer", this::writeRequests);
    start("reader", this::readAnswers);
  }

  /** Return the reason why the child ended, or null while it runs. */
  public String ended() {
    return ended;
  }

  /** True if the child has answered, and was started longer ago than the limit of silence. */
  public boolean isProven() {
    return answered && System.nanoTime() - started > silenceNanos;
  }

  /** Send a message that has no answer. */
  public void send(int kind, String text) {
    frames.add(frame(0, kind, text));
  }

  /**
   * Send a request of the rule, and wait for its answer.
   *
   * @param millis the longest wait
   */
  public String ask(String text, long millis) {
    Long number = numbers.incrementAndGet();
    var answer = new CompletableFuture<String>();
    waiting.put(number, answer);
    // end() may have run before `waiting` had the request; if it runs later, it fails the request
    if (ended != null) answer.completeExceptionally(failure(ended));
    synchronized (this) {
      if (open++ == 0) silentSince = System.nanoTime();
    }
    frames.add(frame(number, PLAN, text));
    try {
      return answer.get(millis, TimeUnit.MILLISECONDS);
    } catch (TimeoutException e) {
      endIfSilent();
      throw new NoAnswerException("planning-timeout", "no answer in " + millis / 1000.0 + " s");
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw failure("interrupted");
    } catch (ExecutionException e) {
      throw (NoAnswerException) e.getCause();
    } finally {
      waiting.remove(number);
    }
  }

  /** End the child. All waiting requests fail with the reason of the first call. */
  public void end(String reason) {
    synchronized (this) {
      if (ended == null) ended = reason;
    }
    process.destroyForcibly();
    // wakes the writer, which checks whether the child has ended
    frames.add(new byte[0]);
    for (var answer : waiting.values()) answer.completeExceptionally(failure(ended));
  }

  private synchronized void hear() {
    open--;
    silentSince = System.nanoTime();
    answered = true;
  }

  private void endIfSilent() {
    long silence;
    synchronized (this) {
      silence = open == 0 ? 0 : System.nanoTime() - silentSince;
    }
    if (silence > silenceNanos) {
      end("it was silent for " + TimeUnit.NANOSECONDS.toSeconds(silence) + " s");
    }
  }

  private static NoAnswerException failure(String reason) {
    return new NoAnswerException(FAILED, "the companion process: " + reason);
  }

  private static void start(String name, Runnable work) {
    Thread thread = new Thread(work, "lakesieve-companion-" + name);
    thread.setDaemon(true);
    thread.start();
  }

  private static byte[] frame(long number, int kind, String text) {
    byte[] content = text.getBytes(StandardCharsets.UTF_8);
    return ByteBuffer.allocate(HEAD + content.length)
        .putInt(MARK)
        .putInt(content.length)
        .putLong(number)
        .put((byte) kind)
        .put(content)
        .array();
  }

  /** Write frames in a separate thread. If the child does not read, only this thread is blocked. */
  private void writeRequests() {
    try (OutputStream out = process.getOutputStream()) {
      while (ended == null) {
        out.write(frames.take());
        out.flush();
      }
    } catch (IOException | InterruptedException e) {
      // the thread that reads answers notices the end
    }
  }

  /** Pass answers to their callers until the child ends. */
  private void readAnswers() {
    try (var in = new DataInputStream(new BufferedInputStream(process.getInputStream()))) {
      while (true) {
        int mark = in.readInt();
        int length = in.readInt();
        if (mark != MARK || length < 0 || length > LARGEST) {
          end("it wrote something that is not an answer");
          return;
        }
        long number = in.readLong();
        int kind = in.readByte();
        byte[] content = new byte[length];
        in.readFully(content);
        hear();
        var answer = waiting.get(number);
        if (answer == null) continue; // the caller no longer waits
        String text = new String(content, StandardCharsets.UTF_8);
        if (kind == ANSWER) {
          answer.complete(text);
        } else {
          answer.completeExceptionally(failure(text));
        }
      }
    } catch (IOException e) {
      end(reasonOfEnd());
    }
  }

  private String reasonOfEnd() {
    try {
      process.waitFor(1, TimeUnit.SECONDS);
      // its last line may still be on its way
      Thread.sleep(100);
    } catch (InterruptedException e) {
      return "it ended";
    }
    String complaint = log.lastLine();
    String status = process.isAlive() ? "it closed its pipe" : "it ended: " + process.exitValue();
    return complaint.isEmpty() ? status : status + ", " + complaint;
  }
}
