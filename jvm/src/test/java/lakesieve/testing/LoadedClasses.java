package lakesieve.testing;

import java.lang.management.ManagementFactory;
import javax.management.JMException;
import javax.management.ObjectName;

/** The classes that this JVM has loaded, after it has unloaded all that are not used any more. */
public final class LoadedClasses {
  private LoadedClasses() {}

  /**
   * Return the number of lakesieve's classes, those of other class loaders and lambdas included.
   */
  public static long own() throws JMException {
    System.gc();
    ObjectName commands = new ObjectName("com.sun.management:type=DiagnosticCommand");
    Object[] arguments = {new String[0]};
    String[] types = {String[].class.getName()};
    Object classes =
        ManagementFactory.getPlatformMBeanServer()
            .invoke(commands, "vmClassHierarchy", arguments, types);
    return ((String) classes).lines().filter(line -> line.contains("lakesieve.")).count();
  }

  /** Return the kibibytes that the metadata of all classes take. */
  public static long metaspace() {
    System.gc();
    return ManagementFactory.getMemoryPoolMXBeans().stream()
        .filter(pool -> pool.getName().equals("Metaspace"))
        .mapToLong(pool -> pool.getUsage().getUsed() / 1024)
        .sum();
  }
}
