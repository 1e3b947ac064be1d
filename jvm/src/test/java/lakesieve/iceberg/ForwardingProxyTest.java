package lakesieve.iceberg;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Proxies that answer some calls themselves. */
class ForwardingProxyTest {
  private static final List<String> TARGET = List.of("a", "b");

  @SuppressWarnings("unchecked") // a class has no type parameters
  private static List<String> proxy() {
    return ForwardingProxy.of(
        List.class, TARGET, call -> call.name().equals("size") ? 7 : call.forward());
  }

  /** Calls are answered by the function or by the target. */
  @Test
  void answersOrForwards() {
    assertEquals(7, proxy().size());
    assertEquals("b", proxy().get(1));
  }

  /** Exceptions of the target arrive as they are. */
  @Test
  void throwsWhatTheTargetThrows() {
    assertThrows(IndexOutOfBoundsException.class, () -> proxy().get(2));
  }

  /** A proxy equals itself alone, whatever the target says. */
  @Test
  void equalsItselfAlone() {
    List<String> one = proxy();
    Set<Object> both = new HashSet<>(List.of(one, proxy()));

    assertEquals(one, one);
    assertNotEquals(one, TARGET);
    assertEquals(2, both.size());
  }

  /** Proxies with equal targets are equal if they change the same. */
  @Test
  void comparesTargetsAndKeys() {
    Object one = like(List.of("a"), "key");

    assertEquals(one, like(List.of("a"), "key"));
    assertEquals(one.hashCode(), like(List.of("a"), "key").hashCode());
    assertNotEquals(one, like(List.of("a"), "other"));
    assertNotEquals(one, like(List.of("b"), "key"));
    assertNotEquals(one, List.of("a"));
  }

  private static Object like(List<String> target, String key) {
    return ForwardingProxy.likeTarget(List.class, target, key, ForwardingProxy.Call::forward);
  }
}
