package lakesieve.build;

import java.util.function.Consumer;
import org.apache.iceberg.events.CreateSnapshotEvent;
import org.apache.iceberg.events.Listener;
import org.apache.iceberg.events.Listeners;

/**
 * Listens to the rewrites of Iceberg's procedures. They run while a CALL is analyzed, so Spark's
 * listeners do not see them. A listener of Iceberg gets every snapshot that is made in this JVM,
 * and can never be removed.
 */
final class IcebergRewrites implements Listener<CreateSnapshotEvent> {
  private static final String REWRITE = "replace";

  private final Consumer<String> tables;

  private IcebergRewrites(Consumer<String> tables) {
    this.tables = tables;
  }

  /** Report the name of each table that is rewritten from now on. */
  static void hear(Consumer<String> tables) {
    Listeners.register(new IcebergRewrites(tables), CreateSnapshotEvent.class);
  }

  @Override
  public void notify(CreateSnapshotEvent event) {
    if (REWRITE.equals(event.operation())) tables.accept(event.tableName());
  }
}
