package lakesieve.check;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Code is compiled against one version of a library, and checked against another one. */
class MissingMembersTest {
  private static final String CODE =
      """
      package code;
      import library.Scans;
      public class Code implements library.Rule {
        long used = Long.MAX_VALUE - 1;
        public int apply(int n) { return n; }
        java.util.function.Function<String, Integer> run(Scans scans) {
          scans.limit = Scans.count(scans.name());
          return text -> scans.size(text, 1L);
        }
      }
      """;
  private static final String RULE = "package library; public interface Rule { int apply(int n); }";
  private static final String SCANS =
      """
      package library;
      public class Scans {
        public int limit;
        public String name() { return ""; }
        public static int count(String name) { return 1; }
        public int size(Object text, long stride) { return 1; }
      }
      """;

  @TempDir Path folder;

  /** Nothing is missing from the library that the code was compiled against. */
  @Test
  void sameLibrary() throws IOException {
    assertEquals(Set.of(), missing(RULE, SCANS));
  }

  /** A member that has moved to a class above is found there, as the JVM finds it. */
  @Test
  void inheritedMembers() throws IOException {
    String above = SCANS.replace("class Scans", "class Above").replace("public class", "class");
    String below = "package library; public class Scans extends Above {}";
    assertEquals(Set.of(), missing(RULE, below, above));
  }

  /** A method is missing when it is gone or has other parameters. */
  @Test
  void changedMethods() throws IOException {
    String changed =
        SCANS
            .replace("String name()", "String title()")
            .replace("Object text, long stride", "Object text, int stride");
    assertEquals(
        Set.of("library.Scans.name()", "library.Scans.size(Object, long)"), missing(RULE, changed));
  }

  /** A field that has another type is missing. */
  @Test
  void changedField() throws IOException {
    assertEquals(
        Set.of("library.Scans.limit (a field)"),
        missing(RULE, SCANS.replace("int limit", "long limit")));
  }

  /** A class that is gone is missing, unless it may be. */
  @Test
  void goneClass() throws IOException {
    assertEquals(Set.of("library.Scans"), missing(RULE));
    assertEquals(Set.of(), missing(name -> name.startsWith("library."), RULE));
  }

  /** A method that an interface demands anew is missing from the code. */
  @Test
  void newAbstractMethod() throws IOException {
    assertEquals(
        Set.of("an implementation of library.Rule.name in code.Code"),
        missing(RULE.replace("{ int", "{ String name(); int"), SCANS));
  }

  private Set<String> missing(String... library) throws IOException {
    return missing(name -> false, library);
  }

  private Set<String> missing(Predicate<String> ignored, String... library) throws IOException {
    Path before = folder.resolve("before");
    compile(before, before, RULE, SCANS);
    compile(folder.resolve("code"), before, CODE);
    Path now = folder.resolve("now");
    compile(now, now, library);
    byte[] content = Files.readAllBytes(folder.resolve("code/code/Code.class"));
    URL[] path = {folder.resolve("code").toUri().toURL(), now.toUri().toURL()};
    try (URLClassLoader loader = new URLClassLoader(path, null)) {
      return MissingMembers.of(Map.of("code.Code", content), loader, ignored);
    }
  }

  /** Compile sources, each of which has one class, into a folder. */
  private static void compile(Path target, Path library, String... sources) throws IOException {
    Files.createDirectories(target);
    List<String> arguments = new ArrayList<>();
    arguments.addAll(List.of("-d", target.toString(), "-cp", library.toString()));
    for (String source : sources) {
      String type = source.replaceAll("(?s).*?(?:class|interface) (\\w+).*", "$1");
      Path file = Files.createDirectories(target.resolve("sources")).resolve(type + ".java");
      arguments.add(Files.writeString(file, source).toString());
    }
    int status =
        ToolProvider.getSystemJavaCompiler()
            .run(null, null, null, arguments.toArray(String[]::new));
    assertEquals(0, status);
  }
}
