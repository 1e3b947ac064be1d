package lakesieve.iceberg;

import org.apache.iceberg.Table;
import org.apache.iceberg.spark.source.SparkTable;

/** What differs between versions of Iceberg's source for Spark. */
public final class SparkSource {
  /** The method of a scan that returns the columns it reads. */
  public static final String PROJECTION = "expectedSchema";

  private SparkSource() {}

  /** Wrap a table for Spark, which does not refresh it. */
  public static SparkTable table(Table table) {
    return new SparkTable(table, false);
  }
}
