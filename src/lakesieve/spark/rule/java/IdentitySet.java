package lakesieve;

import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.HashSet;
import java.util.Set;

/** A set of objects by identity, which keeps none of them alive: equal scans are not the same scan. */
public final class IdentitySet {
  private final Set<Ref> refs = new HashSet<>();
  private final ReferenceQueue<Object> collected = new ReferenceQueue<>();

  /** Add an object; true when it was not in the set. */
  public synchronized boolean add(Object o) {
    Object gone;
    while ((gone = this.collected.poll()) != null) this.refs.remove(gone);
    return this.refs.add(new Ref(o, this.collected));
  }

  /** True when the object itself is in the set, whatever equals it. */
  public synchronized boolean contains(Object o) {
    return this.refs.contains(new Ref(o, null));
  }

  /** A weak reference that equals those to the same object. */
  public static final class Ref extends WeakReference<Object> {
    private final int hash;

    /** Make one that enters a queue, if any, once the object is garbage. */
    public Ref(Object o, ReferenceQueue<Object> queue) {
      super(o, queue);
      this.hash = System.identityHashCode(o);
    }

    @Override
    public int hashCode() {
      return this.hash;
    }

    @Override
    public boolean equals(Object other) {
      if (this == other) return true;
      if (!(other instanceof Ref)) return false;
      Object mine = this.get();
      return mine != null && mine == ((Ref) other).get();
    }
  }
}
