package lakesieve.spark;

import java.util.ArrayList;
import java.util.List;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** Conversions between lists of Java and of Scala, which differ between versions of Scala. */
public final class Scala {
  private Scala() {}

  /** Return a list as Scala's methods take it. */
  public static <T> Seq<T> seq(List<? extends T> list) {
    return CollectionConverters.asScala(new ArrayList<T>(list)).toSeq();
  }

  /** Return a view of a Scala sequence as a Java list. */
  public static <T> List<T> list(scala.collection.Seq<T> sequence) {
    return CollectionConverters.asJava(sequence);
  }

  /** Put an element before all others; a Java view of a buffer could not. */
  public static <T> void putFirst(scala.collection.mutable.Buffer<T> buffer, T element) {
    buffer.insert(0, element);
  }

  /** The value of an option, or null. */
  public static <T> T orNull(Option<T> option) {
    return option.isDefined() ? option.get() : null;
  }
}
