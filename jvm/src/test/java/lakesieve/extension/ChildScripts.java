package lakesieve.extension;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** Shell scripts that stand for the Python interpreter of the companion process. */
final class ChildScripts {
  static final int MARK = 0x4c4b5356;
  static final int ANSWER = 0;
  static final int FAILURE = 1;

  private ChildScripts() {}

  /** Write a script into a folder; it runs in this folder. */
  static String script(Path folder, String lines) throws IOException {
    Path script = Files.createTempFile(folder, "python", "");
    Files.writeString(script, "#!/bin/sh\ncd '" + folder + "'\n" + lines + "\n");
    if (!script.toFile().setExecutable(true)) throw new IOException("not executable: " + script);
    return script.toString();
  }

  /** The bytes of a frame. */
  static byte[] frame(long number, int kind, String text) {
    byte[] content = text.getBytes(StandardCharsets.UTF_8);
    ByteBuffer frame = ByteBuffer.allocate(4 + 4 + 8 + 1 + content.length);
    frame.putInt(MARK).putInt(content.length).putLong(number).put((byte) kind).put(content);
    return frame.array();
  }
}
