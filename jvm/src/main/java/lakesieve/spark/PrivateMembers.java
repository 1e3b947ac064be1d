package lakesieve.spark;

import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;

/**
 * Reads private fields and calls private methods of Spark and of the table formats, if they offer
 * no public way.
 *
 * <p>If the installed version of a library lacks a member, an {@link IllegalStateException} names
 * the class and the member.
 */
public final class PrivateMembers {
  private PrivateMembers() {}

  /**
   * Return the value of a field.
   *
   * @param of the object, null for a static field
   * @param owner the class that declares the field
   */
  public static Object field(Object of, Class<?> owner, String name) {
    try {
      return requireField(owner, name).get(of);
    } catch (IllegalAccessException e) {
      throw new IllegalStateException("cannot read " + owner.getName() + "." + name, e);
    }
  }

  /**
   * Set the value of a field.
   *
   * @param of the object, null for a static field
   * @param owner the class that declares the field
   */
  public static void set(Object of, Class<?> owner, String name, Object value) {
    try {
      requireField(owner, name).set(of, value);
    } catch (IllegalAccessException e) {
      throw new IllegalStateException("cannot set " + owner.getName() + "." + name, e);
    }
  }

  /**
   * Call a method; an exception that it throws is thrown as it is.
   *
   * @param of the object, null for a static method
   * @param owner the class that declares the method, or a subclass of it
   * @param types the types of its parameters
   */
  public static Object call(
      Object of, Class<?> owner, String name, Class<?>[] types, Object... arguments)
      throws Exception {
    try {
      return requireMethod(owner, name, types).invoke(of, arguments);
    } catch (InvocationTargetException e) {
      if (e.getCause() instanceof Exception cause) throw cause;
      throw e;
    }
  }

  /** Call a method without parameters, which the object's class or a superclass declares. */
  public static Object get(Object of, String name) throws Exception {
    return call(of, of.getClass(), name, new Class<?>[0]);
  }

  /** Return a field that must exist, made accessible. */
  public static Field requireField(Class<?> owner, String name) {
    try {
      Field field = owner.getDeclaredField(name);
      field.setAccessible(true);
      return field;
    } catch (NoSuchFieldException | RuntimeException e) {
      throw missing(owner, "field " + name, e);
    }
  }

  /**
   * Return the first field whose name has a prefix, of a class or a superclass, made accessible.
   */
  public static Field requireFieldLike(Class<?> type, String prefix) {
    for (Class<?> c = type; c != null; c = c.getSuperclass()) {
      for (Field field : c.getDeclaredFields()) {
        if (!field.getName().startsWith(prefix)) continue;
        field.setAccessible(true);
        return field;
      }
    }
    throw missing(type, "field " + prefix + "*", null);
  }

  /** Return a method of a class or a superclass that must exist, made accessible. */
  public static Method requireMethod(Class<?> type, String name, Class<?>... types) {
    Exception cause = null;
    for (Class<?> c = type; c != null; c = c.getSuperclass()) {
      try {
        Method method = c.getDeclaredMethod(name, types);
        method.setAccessible(true);
        return method;
      } catch (NoSuchMethodException | RuntimeException e) {
        // the message for the class itself is clearer than that for a superclass
        if (cause == null) cause = e;
      }
    }
    throw missing(type, "method " + name + " of " + types.length + " parameters", cause);
  }

  private static IllegalStateException missing(Class<?> type, String member, Exception cause) {
    return new IllegalStateException(
        type.getName() + " has no accessible " + member + " in the installed version", cause);
  }
}
