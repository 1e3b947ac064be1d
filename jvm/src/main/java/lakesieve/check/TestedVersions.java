package lakesieve.check;

import java.util.ArrayList;
import java.util.List;

/** The versions of Spark that a jar of lakesieve was tested on, according to its manifest. */
public final class TestedVersions {
  private static final String NEWER = "newer";

  private final List<String> names;
  private final boolean isForNewer;

  /**
   * Read the versions from the manifest's text, the newest first: {@code 4.2 4.1}. The word {@code
   * newer} follows if the jar may be tried on newer versions.
   */
  public TestedVersions(String text) {
    names = new ArrayList<>(List.of(text.split(" ")));
    isForNewer = names.remove(NEWER);
  }

  /** The versions of the jar with this class; none if the class does not come from a jar. */
  public static TestedVersions ofJar() {
    String text = TestedVersions.class.getPackage().getSpecificationVersion();
    return new TestedVersions(text == null ? "" : text);
  }

  /**
   * True for a version that was tested.
   *
   * @param running the version, such as {@code 4.1.3}
   */
  public boolean contains(String running) {
    return names.stream().anyMatch(name -> running.startsWith(name + "."));
  }

  /**
   * True for a version that is newer than all tested ones, if the jar may be tried on such
   * versions.
   */
  public boolean mayBeTriedOn(String running) {
    return isForNewer && number(running) > number(names.get(0));
  }

  @Override
  public String toString() {
    return String.join(", ", names);
  }

  /** Major and minor version as one number. */
  private static int number(String version) {
    String[] parts = version.split("\\.");
    return Integer.parseInt(parts[0]) * 1000 + Integer.parseInt(parts[1]);
  }
}
