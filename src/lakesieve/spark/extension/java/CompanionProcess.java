package lakesieve;

import java.io.BufferedInputStream;
import java.io.BufferedReader;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.LoggerFactory;

/**
 * One child process in Python, which answers the requests of all sessions and threads over its pipes.
 *
 * <p>Protocol: frames of a mark, a length, a number, a kind and a text in UTF-8, the numbers
 * big-endian. An answer has its request's number, and as its kind whether it is one.
 */
public final class CompanionProcess {
  /** The code of what goes wrong with the child. */
  public static final String FAILED = "companion-failed";
  /** Opens a session: its name, a newline, and its settings as JSON. Has no answer. */
  public static final int OPEN = 1;
  /** A request of the rule: the session's name, a newline, and the request. */
  public static final int PLAN = 2;

  private static final int MARK = 0x4c4b5356;
  private static final int ANSWER = 0;
  private static final int LARGEST = 1 << 30;
  // what a terminal would obey, as in printable.py
  private static final String UNSAFE =
      "[\\p{Cntrl}\\x80-\\x9f\\x{61c}\\x{200e}\\x{200f}\\x{2028}-\\x{202e}\\x{2066}-\\x{2069}]";
  // nothing was heard for as long, while something was to be said
  private static final long SILENCE_NANOS = 10_000_000_000L;

  private final Process process;
  private final LinkedBlockingQueue<byte[]> frames = new LinkedBlockingQueue<>();
  private final Map<Long, CompletableFuture> waiting = new ConcurrentHashMap<>();
  private final AtomicLong numbers = new AtomicLong();
  private final long started = System.nanoTime();
  // requests that have no answer yet, also those for which nobody waits any more
  private int open = 0;
  private long silent = 0;
  private volatile boolean answered = false;
  private volatile String complaint = "";
  private volatile String ended;

  /**
   * Start it.
   *
   * @param python the interpreter
   * @param version of lakesieve, which it must have, too
   */
  public CompanionProcess(String python, String version) throws IOException {
    // not the modules of the folder that the driver happens to be in
    List<String> command =
        Arrays.asList(python, "-P", "-m", "lakesieve.spark.companion", version);
    this.process = new ProcessBuilder(command).start();
    start("writer", new Writer());
    start("reader", new Reader());
    start("log", new Log());
  }

  /** Why it ended, or null while it runs. */
  public String ended() {
    return this.ended;
  }

  /** Whether it worked for a while. */
  public boolean isProven() {
    return this.answered && System.nanoTime() - this.started > SILENCE_NANOS;
  }

  /** Say something that has no answer. */
  public void send(int kind, String text) {
    this.frames.add(frame(0, kind, text));
  }

  /** Wait for an answer, as long as is given. */
  public String ask(String text, long millis) {
    Long number = Long.valueOf(this.numbers.incrementAndGet());
    CompletableFuture<String> answer = new CompletableFuture<>();
    this.waiting.put(number, answer);
    // after that it would fail all that wait
    if (this.ended != null) answer.completeExceptionally(failed(this.ended));
    synchronized (this) {
      if (this.open++ == 0) this.silent = System.nanoTime();
    }
    this.frames.add(frame(number.longValue(), PLAN, text));
    try {
      return (String) answer.get(millis, TimeUnit.MILLISECONDS);
    } catch (TimeoutException e) {
      endIfSilent();
      String detail = "no answer in " + millis / 1000.0 + " s";
      throw new NoAnswerException("planning-timeout", detail);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw failed("interrupted");
    } catch (ExecutionException e) {
      throw (NoAnswerException) e.getCause();
    } finally {
      this.waiting.remove(number);
    }
  }

  /** End it, for a reason. */
  public void end(String reason) {
    synchronized (this) {
      if (this.ended == null) this.ended = reason;
    }
    this.process.destroyForcibly();
    this.frames.add(new byte[0]);
    for (Object answer : new ArrayList<>(this.waiting.values())) {
      ((CompletableFuture) answer).completeExceptionally(failed(this.ended));
    }
  }

  private synchronized void heard() {
    this.open--;
    this.silent = System.nanoTime();
    this.answered = true;
  }

  private void endIfSilent() {
    long silence;
    synchronized (this) {
      silence = this.open == 0 ? 0 : System.nanoTime() - this.silent;
    }
    if (silence > SILENCE_NANOS) end("it was silent for " + silence / 1_000_000_000L + " s");
  }

  private static NoAnswerException failed(String reason) {
    return new NoAnswerException(FAILED, "the companion process: " + reason);
  }

  private static void start(String name, Runnable work) {
    Thread thread = new Thread(work, "lakesieve-companion-" + name);
    thread.setDaemon(true);
    thread.start();
  }

  private static byte[] frame(long number, int kind, String text) {
    byte[] content = text.getBytes(StandardCharsets.UTF_8);
    java.nio.ByteBuffer buffer = java.nio.ByteBuffer.allocate(17 + content.length);
    buffer.putInt(MARK).putInt(content.length).putLong(number).put((byte) kind).put(content);
    return buffer.array();
  }

  /** Writes frames: a child that does not read holds nobody else up. */
  private final class Writer implements Runnable {
    @Override
    public void run() {
      try {
        DataOutputStream out = new DataOutputStream(process.getOutputStream());
        while (ended == null) {
          out.write((byte[]) frames.take());
          out.flush();
        }
        out.close();
      } catch (Exception e) {
        // the reader hears of it
      }
    }
  }

  /** Hands answers to those who wait for them. */
  private final class Reader implements Runnable {
    @Override
    public void run() {
      try {
        DataInputStream in = new DataInputStream(new BufferedInputStream(process.getInputStream()));
        while (true) {
          int mark = in.readInt();
          int length = in.readInt();
          if (mark != MARK || length < 0 || length > LARGEST) {
            end("what it wrote is no answer");
            return;
          }
          Long number = Long.valueOf(in.readLong());
          int kind = in.readByte();
          byte[] content = new byte[length];
          in.readFully(content);
          heard();
          CompletableFuture answer = (CompletableFuture) waiting.get(number);
          if (answer == null) continue;
          String text = new String(content, StandardCharsets.UTF_8);
          if (kind == ANSWER) answer.complete(text);
          else answer.completeExceptionally(failed(text));
        }
      } catch (IOException e) {
        end(epitaph());
      }
    }

    private String epitaph() {
      try {
        process.waitFor(1, TimeUnit.SECONDS);
        // the last line may still be on its way
        Thread.sleep(100);
        String status = process.isAlive() ? "it closed its pipe" : "it ended: " + process.exitValue();
        return complaint.isEmpty() ? status : status + ", " + complaint;
      } catch (InterruptedException e) {
        return "it ended";
      }
    }
  }

  /** Copies what it complains of into the driver's log. */
  private final class Log implements Runnable {
    @Override
    public void run() {
      try {
        BufferedReader lines =
            new BufferedReader(
                new InputStreamReader(process.getErrorStream(), StandardCharsets.UTF_8));
        String line = lines.readLine();
        while (line != null) {
          line = line.replaceAll(UNSAFE, "?");
          complaint = line.trim();
          LoggerFactory.getLogger("lakesieve").warn("companion: " + line);
          line = lines.readLine();
        }
      } catch (IOException e) {
        // it is gone
      }
    }
  }
}
