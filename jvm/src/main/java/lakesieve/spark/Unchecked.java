package lakesieve.spark;

/** Throws checked exceptions where Java forbids them. Scala has no checked exceptions. */
public final class Unchecked {
  private Unchecked() {}

  /**
   * Return an exception in a form that may be thrown anywhere; it stays what it is.
   *
   * @param <E> the type that the compiler sees
   */
  @SuppressWarnings("unchecked")
  public static <E extends Exception> E of(Exception e) throws E {
    throw (E) e;
  }
}
