package lakesieve.build;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.iceberg.events.CreateSnapshotEvent;
import org.apache.iceberg.events.Listeners;
import org.junit.jupiter.api.Test;

/** What a session is told of writes that are no commands of Spark. */
class WrittenTablesTest {
  private static void commit(String table, String operation) {
    Listeners.notifyAll(new CreateSnapshotEvent(table, operation, 1L, 1L, Map.of()));
  }

  /** Rewrites of Iceberg are told to all who listen, whatever fails in one of them. */
  @Test
  void rewritesAreHeardByAll() {
    List<String> heard = new ArrayList<>();
    var failing =
        new WrittenTables(
            names -> {
              throw new IllegalStateException("the session was stopped");
            });
    var listening =
        new WrittenTables(
            names -> {
              heard.add(names);
              return null;
            });

    failing.begin();
    listening.begin();
    commit("lake.db.t", "replace");
    commit("lake.db.t", "append");
    commit("s3://b/t", "replace");
    failing.end();
    listening.end();
    commit("lake.db.t", "replace");

    assertEquals(List.of("lake.db.t", "iceberg:s3://b/t"), heard);
  }

  /** The sinks of streams name format and path; other sinks name no table. */
  @Test
  void tablesOfSinks() {
    assertEquals(Optional.of("delta:s3://b/t"), WrittenTables.sinkTable("DeltaSink[s3://b/t]"));
    assertEquals(Optional.of("parquet:/lake/[t]"), WrittenTables.sinkTable("FileSink[/lake/[t]]"));
    assertEquals(
        Optional.of("hudi:/lake/t"), WrittenTables.sinkTable("HoodieStreamingSink[/lake/t]"));
    assertEquals(Optional.empty(), WrittenTables.sinkTable("MemorySink"));
    assertEquals(Optional.empty(), WrittenTables.sinkTable("ForeachBatchSink"));
  }
}
