package lakesieve.files;

import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.util.HashMap;
import java.util.Map;

/**
 * A map from objects by identity, which keeps none of them alive: equal scans are not the same
 * scan.
 *
 * <p>A value must not refer to its own key, or the key is never garbage.
 */
public final class IdentityMap<V> {
  private final Map<IdentityRef, V> values = new HashMap<>();
  private final ReferenceQueue<Object> collected = new ReferenceQueue<>();

  /** Set the value of an object, or remove it where the value is null; return the former value. */
  public synchronized V put(Object key, V value) {
    for (Reference<?> gone = collected.poll(); gone != null; gone = collected.poll()) {
      values.remove(gone);
    }
    IdentityRef ref = new IdentityRef(key, collected);
    return value == null ? values.remove(ref) : values.put(ref, value);
  }

  /** Return the value of the object itself; null if it has none. */
  public synchronized V get(Object key) {
    return values.get(new IdentityRef(key, null));
  }

  /** Return the number of references, some of which may be to objects that are garbage by now. */
  synchronized int references() {
    return values.size();
  }
}
