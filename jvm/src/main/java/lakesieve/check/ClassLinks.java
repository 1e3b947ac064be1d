package lakesieve.check;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** The classes, methods and fields that a class file links to: the entries of its constant pool. */
final class ClassLinks {
  /**
   * A class, or a member of it.
   *
   * @param owner the class, with slashes
   * @param name the member, or null for the class itself
   * @param descriptor the types of the member, as class files have them, or null
   */
  record Link(String owner, String name, String descriptor) {
    /** True for a field. */
    boolean isField() {
      return !descriptor.startsWith("(");
    }
  }

  // tags of the entries, as the specification of the JVM has them
  private static final int UTF8 = 1;
  private static final int LONG = 5;
  private static final int DOUBLE = 6;
  private static final int CLASS = 7;
  private static final int FIELD = 9;
  private static final int INTERFACE_METHOD = 11;
  private static final int NAME_AND_TYPE = 12;

  private final int[] tags;
  // the two numbers of each entry
  private final int[] firsts;
  private final int[] seconds;
  private final String[] texts;

  private ClassLinks(DataInputStream file) throws IOException {
    file.skipNBytes(8);
    int count = file.readUnsignedShort();
    tags = new int[count];
    firsts = new int[count];
    seconds = new int[count];
    texts = new String[count];
    for (int i = 1; i < count; i++) {
      tags[i] = file.readUnsignedByte();
      switch (tags[i]) {
        case UTF8 -> texts[i] = file.readUTF();
        case LONG, DOUBLE -> {
          file.skipNBytes(8);
          i++; // takes two entries
        }
        case CLASS, 8, 16, 19, 20 -> firsts[i] = file.readUnsignedShort();
        case 15 -> file.skipNBytes(3);
        case 3, 4, FIELD, 10, INTERFACE_METHOD, NAME_AND_TYPE, 17, 18 -> {
          firsts[i] = file.readUnsignedShort();
          seconds[i] = file.readUnsignedShort();
        }
        default -> throw new IOException("a class file with an entry of the kind " + tags[i]);
      }
    }
  }

  /** Read the links in the content of a class file. */
  static List<Link> of(byte[] content) throws IOException {
    return new ClassLinks(new DataInputStream(new ByteArrayInputStream(content))).links();
  }

  private List<Link> links() {
    List<Link> links = new ArrayList<>();
    for (int i = 1; i < tags.length; i++) {
      if (tags[i] == CLASS) {
        links.add(new Link(texts[firsts[i]], null, null));
      } else if (tags[i] >= FIELD && tags[i] <= INTERFACE_METHOD) {
        String owner = texts[firsts[firsts[i]]];
        int type = seconds[i];
        links.add(new Link(owner, texts[firsts[type]], texts[seconds[type]]));
      }
    }
    return links;
  }
}
