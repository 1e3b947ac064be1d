package lakesieve.iceberg;

import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import lakesieve.spark.PrivateMembers;
import org.apache.iceberg.BaseScanTaskGroup;
import org.apache.iceberg.ScanTask;
import org.apache.iceberg.ScanTaskGroup;
import org.apache.iceberg.Table;
import org.apache.iceberg.io.FileIO;
import org.apache.spark.sql.connector.read.InputPartition;

/**
 * The input partitions that Iceberg's Spark source makes: the tasks that one task of Spark reads.
 *
 * <p>Their class is package-private, so its members are found by name.
 */
final class SparkPartitions {
  private static final String CLASS = "org.apache.iceberg.spark.source.SparkInputPartition";
  private static final String GROUP = "taskGroup";
  // newer versions of Iceberg may have another file IO for a scan than for its table
  private static final String IO = "io";

  private SparkPartitions() {}

  /** Look up every private member; throws when one of them is missing. */
  static void check() throws ClassNotFoundException {
    Class<?> type = Class.forName(CLASS, false, Table.class.getClassLoader());
    PrivateMembers.requireField(type, GROUP);
    PrivateMembers.requireMethod(type, "table");
    fields(type, constructor(type));
  }

  /** Return the tasks of a partition, or null for a partition of another kind. */
  static ScanTaskGroup<?> group(InputPartition partition) {
    if (!partition.getClass().getName().equals(CLASS)) return null;
    return (ScanTaskGroup<?>) PrivateMembers.field(partition, partition.getClass(), GROUP);
  }

  /** Return the file IO that opens the files of a partition. */
  static FileIO io(InputPartition partition) {
    boolean hasOwn =
        Arrays.stream(partition.getClass().getDeclaredMethods())
            .anyMatch(method -> method.getName().equals(IO));
    try {
      return hasOwn
          ? (FileIO) PrivateMembers.get(partition, IO)
          : ((Table) PrivateMembers.get(partition, "table")).io();
    } catch (Exception e) {
      throw new IllegalStateException(CLASS, e);
    }
  }

  /** Return a copy of a partition with only some of its tasks. */
  static InputPartition with(InputPartition partition, Collection<? extends ScanTask> tasks) {
    Class<?> type = partition.getClass();
    try {
      Constructor<?> constructor = constructor(type);
      List<Object> arguments = new ArrayList<>();
      for (Field field : fields(type, constructor)) {
        Object value = field.get(partition);
        arguments.add(
            field.getName().equals(GROUP)
                ? new BaseScanTaskGroup<>(
                    ((ScanTaskGroup<?>) value).groupingKey(), List.copyOf(tasks))
                : value);
      }
      return (InputPartition) constructor.newInstance(arguments.toArray());
    } catch (InvocationTargetException e) {
      throw new IllegalStateException(CLASS, e.getCause());
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(CLASS, e);
    }
  }

  private static Constructor<?> constructor(Class<?> type) {
    Constructor<?>[] all = type.getDeclaredConstructors();
    if (all.length != 1) throw new IllegalStateException(CLASS + " has several constructors");
    all[0].setAccessible(true);
    return all[0];
  }

  /** Return the fields that the parameters of the constructor set: those that are final. */
  private static List<Field> fields(Class<?> type, Constructor<?> constructor) {
    List<Field> fields = new ArrayList<>();
    List<Class<?>> types = new ArrayList<>();
    for (Field field : type.getDeclaredFields()) {
      int modifiers = field.getModifiers();
      if (Modifier.isStatic(modifiers) || !Modifier.isFinal(modifiers)) continue;
      field.setAccessible(true);
      fields.add(field);
      types.add(field.getType());
    }
    if (!types.equals(List.of(constructor.getParameterTypes()))) {
      throw new IllegalStateException(CLASS + " has other fields than parameters");
    }
    return fields;
  }
}
