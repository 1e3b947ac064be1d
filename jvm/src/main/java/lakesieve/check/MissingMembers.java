package lakesieve.check;

import java.io.IOException;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodHandles.Lookup;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import lakesieve.check.ClassLinks.Link;

/**
 * Finds members that classes link to and that a class loader does not have.
 *
 * <p>The JVM itself links a member when code first uses it, which may be in the middle of a query.
 */
final class MissingMembers {
  private final ClassLoader loader;
  private final Predicate<String> ignored;
  private final Set<String> missing = new TreeSet<>();

  private MissingMembers(ClassLoader loader, Predicate<String> ignored) {
    this.loader = loader;
    this.ignored = ignored;
  }

  /**
   * Find the classes, methods and fields that are missing, by readable names, sorted.
   *
   * @param classes the content of class files, by the name of the class with dots
   * @param loader has these classes, and is to have what they link to
   * @param ignored true for names of classes, with dots, that may be missing
   */
  static Set<String> of(Map<String, byte[]> classes, ClassLoader loader, Predicate<String> ignored)
      throws IOException {
    MissingMembers search = new MissingMembers(loader, ignored);
    for (Map.Entry<String, byte[]> entry : classes.entrySet()) {
      search.check(entry.getKey(), ClassLinks.of(entry.getValue()));
    }
    return search.missing;
  }

  private void check(String name, List<Link> links) {
    Lookup lookup;
    try {
      Class<?> type = Class.forName(name, false, loader);
      checkImplemented(type);
      lookup = MethodHandles.privateLookupIn(type, MethodHandles.lookup());
    } catch (ReflectiveOperationException | LinkageError | TypeNotPresentException e) {
      addClass(e);
      return;
    }
    for (Link link : links) {
      if (!link.owner().startsWith("[") && !link.owner().startsWith("java/")) check(link, lookup);
    }
  }

  private void check(Link link, Lookup lookup) {
    String owner = link.owner().replace('/', '.');
    if (ignored.test(owner)) return;
    try {
      Class<?> type = Class.forName(owner, false, loader);
      if (link.name() != null && !has(type, link, lookup)) {
        missing.add(owner + "." + link.name() + readable(link.descriptor()));
      }
    } catch (ClassNotFoundException | LinkageError | TypeNotPresentException e) {
      addClass(e);
    }
  }

  /** Whether a class or a class above it has a member. */
  private boolean has(Class<?> type, Link link, Lookup lookup) {
    String name = link.name();
    if (link.isField()) {
      Class<?> content =
          MethodType.fromMethodDescriptorString("()" + link.descriptor(), loader).returnType();
      return isThere(() -> lookup.findGetter(type, name, content))
          || isThere(() -> lookup.findStaticGetter(type, name, content));
    }
    MethodType types = MethodType.fromMethodDescriptorString(link.descriptor(), loader);
    if (name.equals("<init>")) return isThere(() -> lookup.findConstructor(type, types));
    return isThere(() -> lookup.findVirtual(type, name, types))
        || isThere(() -> lookup.findStatic(type, name, types));
  }

  private interface Member {
    MethodHandle find() throws NoSuchMethodException, NoSuchFieldException, IllegalAccessException;
  }

  private static boolean isThere(Member member) {
    try {
      return member.find() != null;
    } catch (NoSuchMethodException | NoSuchFieldException e) {
      return false;
    } catch (IllegalAccessException e) {
      // it exists, but only for subclasses, or static where a member of an object was expected
      return true;
    }
  }

  /** Note the methods that a class does not implement although it must. */
  private void checkImplemented(Class<?> type) {
    if (Modifier.isAbstract(type.getModifiers())) return;
    for (Method method : type.getMethods()) {
      if (!Modifier.isAbstract(method.getModifiers())) continue;
      String owner = method.getDeclaringClass().getName();
      missing.add(
          "an implementation of " + owner + "." + method.getName() + " in " + type.getName());
    }
  }

  /** Note the class that an error names. */
  private void addClass(Throwable error) {
    String text = error instanceof TypeNotPresentException t ? t.typeName() : error.getMessage();
    String name = String.valueOf(text).replace('/', '.');
    if (!ignored.test(name)) missing.add(name);
  }

  /** A descriptor of class files as {@code (int, Object)}, without packages. */
  private String readable(String descriptor) {
    if (!descriptor.startsWith("(")) return " (a field)";
    StringBuilder text = new StringBuilder();
    for (Class<?> type :
        MethodType.fromMethodDescriptorString(descriptor, loader).parameterArray()) {
      text.append(text.isEmpty() ? "" : ", ").append(type.getSimpleName());
    }
    return "(" + text + ")";
  }
}
