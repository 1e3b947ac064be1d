package lakesieve.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import org.junit.jupiter.api.Test;

/** Private fields and methods. */
class PrivateMembersTest {
  /** What a library keeps to itself. */
  private static class Library {
    private int size = 1;

    private String failing(String reason) throws IOException {
      throw new IOException(reason);
    }

    private String name() {
      return "library";
    }
  }

  private static final class Newer extends Library {}

  private static final Newer NEWER = new Newer();

  /** A field of a class is read and set, and a method of a superclass is called. */
  @Test
  void areReached() throws Exception {
    Library library = new Library();
    PrivateMembers.set(library, Library.class, "size", 5);

    assertEquals(5, PrivateMembers.field(library, Library.class, "size"));
    assertEquals("library", PrivateMembers.get(NEWER, "name"));
    assertEquals("size", PrivateMembers.requireFieldLike(Newer.class, "si").getName());
  }

  /** What a method throws is thrown as it is. */
  @Test
  void throwWhatTheMethodThrows() {
    Class<?>[] types = {String.class};

    var thrown =
        assertThrows(
            IOException.class,
            () -> PrivateMembers.call(NEWER, Library.class, "failing", types, "no disk"));
    assertEquals("no disk", thrown.getMessage());
    assertSame(IOException.class, thrown.getClass());
  }

  /** Of a missing member, class and name are in the message. */
  @Test
  void areNamedWhereTheyAreMissing() {
    String start = Newer.class.getName() + " has no accessible ";

    var field =
        assertThrows(
            IllegalStateException.class, () -> PrivateMembers.field(NEWER, Newer.class, "nothing"));
    var fields =
        assertThrows(
            IllegalStateException.class,
            () -> PrivateMembers.requireFieldLike(Newer.class, "nothing"));
    var method =
        assertThrows(IllegalStateException.class, () -> PrivateMembers.get(NEWER, "nothing"));

    assertEquals(start + "field nothing in the installed version", field.getMessage());
    assertEquals(start + "field nothing* in the installed version", fields.getMessage());
    assertEquals(
        start + "method nothing of 0 parameters in the installed version", method.getMessage());
  }
}
