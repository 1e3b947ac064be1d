package org.apache.parquet.filter2.predicate;

import java.io.Serializable;
import java.util.function.BiFunction;

/**
 * A predicate that selects rows of a data file by their numbers.
 *
 * <p>Parquet's own class loader must have this class, because Parquet reads predicates from
 * Hadoop's configuration. {@code lakesieve.rows.RowPredicate} defines it there. So it refers to
 * nothing but Parquet and the JDK.
 */
public final class RowsOfFile implements FilterPredicate, Serializable {
  private static final long serialVersionUID = 1;

  /**
   * What a predicate answers to a visitor, for the file that this thread opens.
   *
   * <p>A copy of the predicate is read for each file, and takes the answers that are set then. So
   * files may be read at the same time in one thread.
   */
  public static final ThreadLocal<BiFunction<Object, Object, Object>> OPENED = new ThreadLocal<>();

  /** The answers of a copy that is read while no file is opened. */
  private static volatile BiFunction<Object, Object, Object> every;

  private final transient BiFunction<Object, Object, Object> answers;

  /** Create a predicate with the answers for the file that this thread opens. */
  public RowsOfFile() {
    BiFunction<Object, Object, Object> opened = OPENED.get();
    answers = opened == null ? every : opened;
  }

  /** Set the answers of predicates that select every row. */
  public static void selectEveryRowOtherwise(BiFunction<Object, Object, Object> answers) {
    every = answers;
  }

  private Object readResolve() {
    return new RowsOfFile();
  }

  // each visitor has its own result type, which only the answers know
  @SuppressWarnings("unchecked")
  @Override
  public <R> R accept(Visitor<R> visitor) {
    return (R) answers.apply(this, visitor);
  }

  @Override
  public String toString() {
    return "rows of a file";
  }
}
