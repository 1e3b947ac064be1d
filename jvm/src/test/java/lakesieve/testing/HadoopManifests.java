package lakesieve.testing;

import java.util.UUID;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.hadoop.HadoopFileIO;
import org.apache.iceberg.io.InputFile;

/** Manifests of one path that Hadoop's configuration finds in different stores. */
public final class HadoopManifests {
  private HadoopManifests() {}

  /** Iceberg's file IO over Hadoop, with the files of a store. */
  private static final class StoreIo extends HadoopFileIO {
    private static final long serialVersionUID = 1;

    private final transient ManifestStore store;

    StoreIo(ManifestStore store, Configuration conf) {
      super(conf);
      this.store = store;
    }

    @Override
    public InputFile newInputFile(String path) {
      return store.open(path);
    }

    @Override
    public InputFile newInputFile(String path, long length) {
      return store.open(path);
    }
  }

  /**
   * Write a manifest with one file to one store and a manifest with two files, of the same path, to
   * another store; read both.
   *
   * @param setting of Hadoop, which has another value for each store
   * @return how many files each of them has as it was read
   */
  public static int[] filesInTwoStores(String setting) throws Exception {
    String path = "s3://bucket/" + UUID.randomUUID() + "/m.avro";
    int[] files = new int[2];
    for (int i = 0; i < 2; i++) {
      ManifestStore store = new ManifestStore();
      Configuration conf = new Configuration(false);
      conf.set(setting, "store-" + i);
      files[i] = ManifestStore.knownFiles(new StoreIo(store, conf), store.write(path, i + 1));
    }
    return files;
  }
}
