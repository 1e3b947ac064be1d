package lakesieve.iceberg;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.util.LinkedHashSet;
import java.util.Set;

/**
 * Makes objects that answer some methods of an Iceberg interface themselves and forward all other
 * calls to an object of Iceberg's.
 *
 * <p>The interfaces have dozens of methods, and more in each version of Iceberg: classes that
 * implement them would not compile against all versions.
 */
public final class ForwardingProxy {
  private ForwardingProxy() {}

  /** Answers the calls of a proxy, except those of {@code equals} and {@code hashCode}. */
  @FunctionalInterface
  public interface Answers {
    /** Answer one call; {@link Call#forward} passes it on unchanged. */
    Object answer(Call call) throws Throwable;
  }

  /**
   * A call of a proxy's method.
   *
   * @param target the object behind the proxy
   * @param arguments null for a method without parameters
   */
  public record Call(Object target, Method method, Object[] arguments) {
    /** Name of the method. */
    public String name() {
      return method.getName();
    }

    /** The answer of the object behind the proxy; its exceptions are thrown as they are. */
    public Object forward() throws Throwable {
      try {
        return method.invoke(target, arguments);
      } catch (InvocationTargetException e) {
        throw e.getCause();
      }
    }
  }

  /**
   * Make a proxy, which equals itself alone.
   *
   * @param type the interface
   * @param target the object that calls are forwarded to
   * @param others more interfaces of the target
   */
  public static <T> T of(Class<T> type, T target, Answers answers, Class<?>... others) {
    Class<?>[] types = new Class<?>[others.length + 1];
    types[0] = type;
    System.arraycopy(others, 0, types, 1, others.length);
    Object proxy =
        Proxy.newProxyInstance(
            type.getClassLoader(),
            types,
            (self, method, arguments) ->
                switch (method.getName()) {
                  case "equals" -> self == arguments[0];
                  case "hashCode" -> System.identityHashCode(self);
                  default -> answers.answer(new Call(target, method, arguments));
                });
    return type.cast(proxy);
  }

  /**
   * Make a proxy with all public interfaces of an object. Two such proxies are equal if their
   * objects are equal and their keys are equal.
   *
   * @param type one of the interfaces
   * @param key what the proxy changes about the object
   */
  public static <T> T likeTarget(Class<T> type, T target, Object key, Answers answers) {
    Set<Class<?>> types = new LinkedHashSet<>();
    for (Class<?> own = target.getClass(); own != null; own = own.getSuperclass()) {
      for (Class<?> each : own.getInterfaces()) {
        if (Modifier.isPublic(each.getModifiers())) types.add(each);
      }
    }
    types.add(type);
    return type.cast(
        Proxy.newProxyInstance(
            ForwardingProxy.class.getClassLoader(),
            types.toArray(new Class<?>[0]),
            new Likeness(target, key, answers)));
  }

  /** Answers the calls of a proxy that is compared by its object and its key. */
  private record Likeness(Object target, Object key, Answers answers) implements InvocationHandler {
    @Override
    public Object invoke(Object self, Method method, Object[] arguments) throws Throwable {
      return switch (method.getName()) {
        case "equals" -> arguments.length == 1 && isLike(arguments[0]);
        case "hashCode" -> 31 * target.hashCode() + key.hashCode();
        default -> answers.answer(new Call(target, method, arguments));
      };
    }

    private boolean isLike(Object other) {
      return other != null
          && Proxy.isProxyClass(other.getClass())
          && Proxy.getInvocationHandler(other) instanceof Likeness that
          && target.equals(that.target)
          && key.equals(that.key);
    }
  }
}
