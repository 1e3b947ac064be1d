package lakesieve;

import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.HashSet;

/** A set of objects by identity that does not keep them alive. Equal scans are not the same scan. */
public final class IdentitySet {
  private final HashSet refs = new HashSet();
  private final ReferenceQueue dead = new ReferenceQueue();

  /** True when the object was not in the set. */
  public synchronized boolean add(Object o) {
    Object gone;
    while ((gone = this.dead.poll()) != null) this.refs.remove(gone);
    return this.refs.add(new Ref(o, this.dead));
  }

  public synchronized boolean contains(Object o) {
    return this.refs.contains(new Ref(o, null));
  }

  public static final class Ref extends WeakReference {
    private final int hash;

    public Ref(Object o, ReferenceQueue queue) {
      super(o, queue);
      this.hash = System.identityHashCode(o);
    }

    public int hashCode() {
      return this.hash;
    }

    public boolean equals(Object other) {
      if (this == other) return true;
      if (!(other instanceof Ref)) return false;
      Object mine = this.get();
      return mine != null && mine == ((Ref) other).get();
    }
  }
}
