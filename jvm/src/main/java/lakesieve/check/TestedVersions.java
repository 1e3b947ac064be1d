package lakesieve.check;

import java.util.ArrayList;
import java.util.List;

/** The versions of Spark that a jar of lakesieve was tested on, as its manifest has them. */
public final class TestedVersions {
  private static final String NEWER = "newer";

  private final List<String> names;
  private final boolean isForNewer;

  /**
   * Read them from the manifest's text, newest first: {@code 4.2 4.1}, and {@code newer} after them
   * where the jar may be tried on newer versions.
   */
  public TestedVersions(String text) {
    names = new ArrayList<>(List.of(text.split(" ")));
    isForNewer = names.remove(NEWER);
  }

  /** Those of the jar that holds this class; none where it comes from no jar. */
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
   * True for a version that is newer than all that were tested, if the jar is for such versions.
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
