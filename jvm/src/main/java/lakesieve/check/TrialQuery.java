package lakesieve.check;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import lakesieve.files.FilePaths;
import lakesieve.files.PathSet;
import lakesieve.folders.FolderFiles;
import lakesieve.rule.InstalledRule;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.spark.Partition;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.datasources.FilePartition;
import org.apache.spark.sql.execution.datasources.PartitionedFile;

/**
 * A query over two Parquet files with one row each, of which an index keeps one.
 *
 * <p>It runs in a session of its own, so that the user's session does not change.
 */
final class TrialQuery {
  private static final String KEPT = "1.parquet";
  private static final List<String> FILES = List.of("0.parquet", KEPT);
  private static final byte[] SECRET = new byte[16];
  private static final ObjectMapper JSON = new ObjectMapper();

  private final Path folder;

  private TrialQuery(Path folder) {
    this.folder = folder;
  }

  /** Run the query. Return null if its rows are right and one file is read, else the problem. */
  static String problem(SparkSession given) throws IOException {
    TrialQuery trial = new TrialQuery(Files.createTempDirectory("lakesieve-trial"));
    try {
      return trial.run(given.newSession());
    } finally {
      for (String name : FILES) Files.deleteIfExists(trial.folder.resolve(name));
      Files.deleteIfExists(trial.folder);
    }
  }

  private String run(SparkSession session) throws IOException {
    for (String name : FILES) {
      try (InputStream content = TrialQuery.class.getResourceAsStream(name)) {
        Files.copy(content, folder.resolve(name));
      }
    }
    session.conf().set("spark.lakesieve.enabled", "true");
    session.conf().set("spark.sql.sources.useV1SourceList", "parquet");
    InstalledRule installed = new InstalledRule(session, this::answer, null);
    installed.rule().setActive(true);
    installed.place(true, false);
    Dataset<Row> rows =
        session.read().parquet(new org.apache.hadoop.fs.Path(folder.toUri()).toString());
    rows = rows.where("k >= 0");
    Set<String> read = filesRead(rows);
    if (!read.equals(Set.of(KEPT))) {
      return "a query over two Parquet files would read "
          + read
          + " in place of the one that its index keeps: "
          + installed.rule().report();
    }
    // the executors of a cluster cannot read files of the driver
    if (!session.sparkContext().isLocal()) return null;
    List<Row> found = rows.collectAsList();
    boolean isRight = found.size() == 1 && found.get(0).getLong(0) == 1;
    return isRight ? null : "a query over two Parquet files found the rows " + found;
  }

  private static Set<String> filesRead(Dataset<Row> rows) {
    Set<String> names = new TreeSet<>();
    for (Partition partition : rows.javaRDD().partitions()) {
      for (PartitionedFile file : ((FilePartition) partition).files()) {
        names.add(file.toPath().getName());
      }
    }
    return names;
  }

  /** Answer the pruning rule like an index that covers both files. */
  private String answer(String text) {
    try {
      JsonNode request = JSON.readTree(text);
      if (request.has("ticket")) {
        String digests = base64(digests());
        return JSON.writeValueAsString(
            Map.of("version", request.get("version"), "digests", digests));
      }
      ObjectNode scan = JSON.createObjectNode();
      scan.set("id", request.get("scans").get(0).get("id"));
      scan.putPOJO("catalogues", List.of(List.of(List.of(folder.toString(), FILES.size()))));
      scan.putPOJO("keep", Map.of("index", 0, "keep", base64(new byte[] {0b10})));
      scan.putPOJO("indexes", List.of("trial"));
      scan.putPOJO("leading", List.of());
      scan.putPOJO("reasons", List.of());
      scan.put("predicate", "k >= 0");
      ObjectNode answer = JSON.createObjectNode();
      answer.set("version", request.get("version"));
      answer.put("secret", base64(SECRET)).put("ticket", "trial").putArray("scans").add(scan);
      return JSON.writeValueAsString(answer);
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  private static String base64(byte[] bytes) {
    return Base64.getEncoder().encodeToString(bytes);
  }

  private byte[] digests() throws IOException {
    byte[] digests = new byte[16 * FILES.size()];
    for (int i = 0; i < FILES.size(); i++) {
      var path = new org.apache.hadoop.fs.Path(folder.resolve(FILES.get(i)).toUri());
      FileStatus file = FileSystem.getLocal(new Configuration()).getFileStatus(path);
      byte[] digest = PathSet.digest(SECRET, FilePaths.normal(FolderFiles.identity(file)));
      System.arraycopy(digest, 0, digests, 16 * i, 16);
    }
    return digests;
  }
}
