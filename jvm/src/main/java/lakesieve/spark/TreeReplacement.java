package lakesieve.spark;

import java.util.function.UnaryOperator;
import scala.Function1;
import scala.runtime.AbstractPartialFunction;

/**
 * Replaces some nodes of Spark's trees. It is a partial function of Scala, made from a Java
 * function that returns null for a node that stays.
 *
 * @param <T> the class of the nodes: a plan's or an expression's
 */
public class TreeReplacement<T> extends AbstractPartialFunction<T, T> {
  private final UnaryOperator<T> others;

  /** Create the replacement from a function that returns the other node, or null. */
  public TreeReplacement(UnaryOperator<T> others) {
    this.others = others;
  }

  /** True for a node that is replaced. */
  @Override
  public final boolean isDefinedAt(T node) {
    return others.apply(node) != null;
  }

  /** Return the replacement of a node, or what {@code otherwise} returns for a node that stays. */
  @Override
  // in Scala, the result's type B is a supertype of T, which Java cannot express
  @SuppressWarnings("unchecked")
  public final <A extends T, B> B applyOrElse(A node, Function1<A, B> otherwise) {
    T other = others.apply(node);
    return other == null ? otherwise.apply(node) : (B) other;
  }
}
