package lakesieve.iceberg;

import static lakesieve.testing.ManifestStore.knownFiles;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Map;
import java.util.UUID;
import lakesieve.testing.ManifestStore;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.InputFile;
import org.apache.iceberg.io.OutputFile;
import org.apache.iceberg.io.StorageCredential;
import org.apache.iceberg.io.SupportsStorageCredentials;
import org.junit.jupiter.api.Test;

/** Manifests of one path in two stores are two manifests. */
class KnownManifestsTest {
  // other tests of this process use other paths
  private final String path = "s3://bucket/" + UUID.randomUUID() + "/m.avro";

  /** A file IO of a store that tells its properties, or none. */
  @SuppressWarnings("serial") // never serialized
  private static class StoreIo implements FileIO {
    private final ManifestStore store;
    private final Map<String, String> properties;

    StoreIo(ManifestStore store, Map<String, String> properties) {
      this.store = store;
      this.properties = properties;
    }

    @Override
    public Map<String, String> properties() {
      return properties == null ? FileIO.super.properties() : properties;
    }

    @Override
    public InputFile newInputFile(String path) {
      return store.open(path);
    }

    @Override
    public OutputFile newOutputFile(String path) {
      throw new UnsupportedOperationException(path);
    }

    @Override
    public void deleteFile(String path) {
      throw new UnsupportedOperationException(path);
    }
  }

  /** A file IO with credentials that a catalog vended. */
  @SuppressWarnings("serial") // never serialized
  private static final class VendedIo extends StoreIo implements SupportsStorageCredentials {
    private final List<StorageCredential> credentials;

    VendedIo(ManifestStore store, Map<String, String> credentials) {
      super(store, Map.of());
      this.credentials = List.of(StorageCredential.create("gs://bucket", credentials));
    }

    @Override
    public void setCredentials(List<StorageCredential> others) {
      throw new UnsupportedOperationException();
    }

    @Override
    public List<StorageCredential> credentials() {
      return credentials;
    }
  }

  /** A manifest is read once, also for another file IO with the same settings. */
  @Test
  void readsAManifestOnce() throws Exception {
    ManifestStore store = new ManifestStore();
    ManifestFile manifest = store.write(path, 3);
    Map<String, String> settings = Map.of("s3.endpoint", "http://one");

    assertEquals(3, knownFiles(new StoreIo(store, settings), manifest));
    assertEquals(3, knownFiles(new StoreIo(store, settings), manifest));

    assertEquals(1, store.opened());
  }

  /** Stores at two S3 endpoints are two stores. */
  @Test
  void tellsEndpointsOfS3Apart() throws Exception {
    assertApart(
        store -> new StoreIo(store, Map.of("s3.endpoint", "http://one")),
        store -> new StoreIo(store, Map.of("s3.endpoint", "http://two")));
  }

  /** Properties of any other service count as well. */
  @Test
  void tellsEndpointsOfOtherServicesApart() throws Exception {
    assertApart(
        store -> new StoreIo(store, Map.of("gcs.service.host", "http://one")),
        store -> new StoreIo(store, Map.of("gcs.service.host", "http://two")));
  }

  /** Files that one caller may read are not those that another may read. */
  @Test
  void tellsVendedCredentialsApart() throws Exception {
    assertApart(
        store -> new VendedIo(store, Map.of("gcs.oauth2.token", "one")),
        store -> new VendedIo(store, Map.of("gcs.oauth2.token", "two")));
  }

  /** Nothing is known of two file IOs that do not tell their properties. */
  @Test
  void tellsFileIosWithoutPropertiesApart() throws Exception {
    assertApart(store -> new StoreIo(store, null), store -> new StoreIo(store, null));
  }

  /** A file IO without properties is recognized itself. */
  @Test
  void readsAManifestOnceWithoutProperties() throws Exception {
    ManifestStore store = new ManifestStore();
    ManifestFile manifest = store.write(path, 3);
    FileIO io = new StoreIo(store, null);

    assertEquals(3, knownFiles(io, manifest));
    assertEquals(3, knownFiles(io, manifest));

    assertEquals(1, store.opened());
  }

  /** The least recently used manifests go first when there is no more room. */
  @Test
  void forgetsTheLeastRecentlyUsed() throws Exception {
    ManifestStore store = new ManifestStore();
    FileIO io = new StoreIo(store, Map.of());
    ManifestFile old = store.write(path.replace("m.avro", "old.avro"), 1);
    ManifestFile used = store.write(path, 1);
    knownFiles(io, old);
    knownFiles(io, used);
    long roomForOne = 400;

    knownFiles(io, used, roomForOne);
    assertEquals(2, store.opened());

    knownFiles(io, old);
    assertEquals(3, store.opened());
  }

  private interface IoOfStore {
    FileIO of(ManifestStore store);
  }

  /** Write manifests of one path with 1 and 2 files, and see that each IO finds its own. */
  private void assertApart(IoOfStore first, IoOfStore second) throws Exception {
    ManifestStore one = new ManifestStore();
    ManifestStore two = new ManifestStore();
    ManifestFile ofOne = one.write(path, 1);
    ManifestFile ofTwo = two.write(path, 2);

    assertEquals(1, knownFiles(first.of(one), ofOne));
    assertEquals(2, knownFiles(second.of(two), ofTwo));
  }
}
