package lakesieve.rule;

import lakesieve.spark.Scala;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkContext$;

/** Local properties of Spark, which a thread passes on to the jobs that it starts. */
final class LocalProperties {
  private LocalProperties() {}

  /** Return the value of a property in this thread, or null. */
  static String get(String key) {
    SparkContext context = Scala.orNull(SparkContext$.MODULE$.getActive());
    return context == null ? null : context.getLocalProperty(key);
  }
}
