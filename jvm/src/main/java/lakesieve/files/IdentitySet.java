package lakesieve.files;

/** A set of objects by identity, which keeps none of them alive. */
public final class IdentitySet {
  private final IdentityMap<Boolean> members = new IdentityMap<>();

  /** Add an object; return true when it was not in the set. */
  public boolean add(Object o) {
    return members.put(o, true) == null;
  }

  /** Return true when the object itself is in the set; an equal object does not count. */
  public boolean contains(Object o) {
    return members.get(o) != null;
  }

  /** Return the number of references, some of which may be to objects that are garbage by now. */
  int references() {
    return members.references();
  }
}
