package lakesieve.testing;

import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import lakesieve.iceberg.KnownManifests;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.ManifestFiles;
import org.apache.iceberg.ManifestWriter;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.StaticTableOperations;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.inmemory.InMemoryInputFile;
import org.apache.iceberg.inmemory.InMemoryOutputFile;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.InputFile;
import org.apache.iceberg.types.Types;

/** A store in memory that holds manifests, and counts how many were opened. */
public final class ManifestStore {
  private static final long MUCH = 1 << 20;
  private static final byte[] SECRET = {1, 2, 3};

  private final Map<String, byte[]> files = new HashMap<>();
  private int opened = 0;

  /** Open a file. */
  public InputFile open(String path) {
    opened++;
    return new InMemoryInputFile(path, files.get(path));
  }

  /** How many files were opened so far. */
  public int opened() {
    return opened;
  }

  /** Write a manifest that lists so many data files. */
  public ManifestFile write(String path, int dataFiles) throws IOException {
    InMemoryOutputFile file = new InMemoryOutputFile(path);
    PartitionSpec spec = PartitionSpec.unpartitioned();
    ManifestWriter<DataFile> writer = ManifestFiles.write(2, spec, file, 1L);
    try (writer) {
      for (int i = 0; i < dataFiles; i++) {
        writer.add(
            DataFiles.builder(spec)
                .withPath("s3://bucket/t/" + i + ".parquet")
                .withFileSizeInBytes(1)
                .withRecordCount(1)
                .build());
      }
    }
    files.put(path, file.toByteArray());
    return writer.toManifestFile();
  }

  /** How many files a manifest has as {@link KnownManifests} knows it, if it may take much room. */
  public static int knownFiles(FileIO io, ManifestFile manifest) throws Exception {
    return knownFiles(io, manifest, MUCH);
  }

  /** The same with a limit on the room that all known manifests take. */
  public static int knownFiles(FileIO io, ManifestFile manifest, long limit) throws Exception {
    Schema schema = new Schema(Types.NestedField.required(1, "id", Types.LongType.get()));
    TableMetadata metadata =
        TableMetadata.newTableMetadata(
            schema, PartitionSpec.unpartitioned(), "s3://bucket/t", Map.of());
    var table = new BaseTable(new StaticTableOperations(metadata, io), "t");
    return KnownManifests.of(table, List.of(manifest), SECRET, limit).get(0).files();
  }
}
