package lakesieve.files;

import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.HashSet;
import java.util.Set;

/**
 * A set of objects by identity, which keeps none of them alive: equal scans are not the same scan.
 */
public final class IdentitySet {
  private final Set<Ref> refs = new HashSet<>();
  private final ReferenceQueue<Object> collected = new ReferenceQueue<>();

  /** Add an object; return true when it was not in the set. */
  public synchronized boolean add(Object o) {
    for (Reference<?> gone = collected.poll(); gone != null; gone = collected.poll()) {
      refs.remove(gone);
    }
    return refs.add(new Ref(o, collected));
  }

  /** Return true when the object itself is in the set; an equal object does not count. */
  public synchronized boolean contains(Object o) {
    return refs.contains(new Ref(o, null));
  }

  /** Return the number of references, some of which may be to objects that are garbage by now. */
  synchronized int references() {
    return refs.size();
  }

  /** A weak reference that equals other references to the same object. */
  public static final class Ref extends WeakReference<Object> {
    private final int hash;

    /** Create a reference, which enters the queue, if any, once the object is garbage. */
    public Ref(Object o, ReferenceQueue<Object> queue) {
      super(o, queue);
      hash = System.identityHashCode(o);
    }

    @Override
    public int hashCode() {
      return hash;
    }

    @Override
    public boolean equals(Object other) {
      if (this == other) return true;
      Object mine = get();
      return mine != null && other instanceof Ref that && mine == that.get();
    }
  }
}
