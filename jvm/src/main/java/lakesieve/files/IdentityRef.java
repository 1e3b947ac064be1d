package lakesieve.files;

import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;

/** A weak reference that equals other references to the same object. */
public final class IdentityRef extends WeakReference<Object> {
  private final int hash;

  /** Create a reference, which enters the queue, if any, once the object is garbage. */
  public IdentityRef(Object o, ReferenceQueue<Object> queue) {
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
    return mine != null && other instanceof IdentityRef that && mine == that.get();
  }
}
