package lakesieve;

import java.util.Map;
import scala.Function1;
import scala.runtime.AbstractPartialFunction;

/** Other nodes for some of a plan's, distinguished by identity: equal ones may keep other files. */
public final class Replacement extends AbstractPartialFunction {
  private final Map replaced;

  public Replacement(Map replaced) {
    this.replaced = replaced;
  }

  public boolean isDefinedAt(Object node) {
    return this.replaced.containsKey(node);
  }

  public Object applyOrElse(Object node, Function1 otherwise) {
    Object other = this.replaced.get(node);
    return other == null ? otherwise.apply(node) : other;
  }
}
