package lakesieve.folders;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Iterator;
import java.util.stream.Stream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.junit.jupiter.api.Test;

/** Identities of folders and files. */
class FileScansTest {
  private static FileStatus file(String path) {
    return new FileStatus(12, false, 1, 10, 34, new Path(path));
  }

  /** A folder has one identity under all spellings of its location, which is a UUID of its text. */
  @Test
  void knowsFolders() {
    assertEquals(FileScans.uuid("s3a://b/t/"), FileScans.uuid("s3://b/t"));
    assertNotEquals(FileScans.uuid("s3://b/t"), FileScans.uuid("s3://b/u"));
    // of the text file:/a: indexes are found by it
    assertEquals("11c76d0d-2d81-335a-aff7-41e48f154e44", FileScans.uuid("/a"));
  }

  /** Identities come a line each, in texts of bounded size, and then an empty text. */
  @Test
  void sendsIdentities() {
    Iterator<FileStatus> files =
        Stream.generate(() -> file("file:/t/ä b")).limit(PathLines.LIMIT + 1).iterator();

    String first = FolderFiles.identities(files);
    assertEquals(PathLines.LIMIT, first.lines().count());
    assertEquals("file:/t/ä b#12@34", FolderFiles.identities(files));
    assertEquals("", FolderFiles.identities(files));
  }

  /** A path with a line break in it is refused. */
  @Test
  void refusesLineBreaks() {
    assertThrows(
        IllegalArgumentException.class, () -> PathLines.append(new StringBuilder(), "a\nb"));
  }
}
