package lakesieve.iceberg;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import lakesieve.files.FileGroup;
import lakesieve.files.IdentityRef;
import org.apache.hadoop.conf.Configurable;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.ManifestFiles;
import org.apache.iceberg.Table;
import org.apache.iceberg.encryption.EncryptingFileIO;
import org.apache.iceberg.hadoop.HadoopConfigurable;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.StorageCredential;
import org.apache.iceberg.io.SupportsStorageCredentials;
import org.apache.iceberg.util.ThreadPools;

/**
 * The live files of manifests. This process reads each manifest once, because it never changes. If
 * together they take too many bytes, the least recently used are dropped.
 *
 * <p>All sessions share them. At another endpoint, the same path is another manifest, and other
 * credentials may not be allowed to read it. So a manifest is identified by its path and by the
 * settings of the file IO that reads it.
 */
public final class KnownManifests {
  /**
   * What identifies a manifest.
   *
   * @param store equal for file IOs that read the same files with the same rights
   */
  private record Key(String path, Object store) {}

  private static final Map<Key, FileGroup> KNOWN = new LinkedHashMap<>(16, 0.75f, true);

  private KnownManifests() {}

  /**
   * The files of some manifests of a table. It reads the manifests that are not known.
   *
   * @param secret that the digests of paths begin with
   * @param limit bytes of memory that all known manifests may take together
   */
  public static List<FileGroup> of(
      Table table, List<ManifestFile> manifests, byte[] secret, long limit) throws Exception {
    Object store = store(table.io(), secret);
    List<Key> keys = manifests.stream().map(each -> new Key(each.path(), store)).toList();
    FileGroup[] groups = new FileGroup[keys.size()];
    synchronized (KNOWN) {
      Arrays.setAll(groups, i -> KNOWN.get(keys.get(i)));
    }
    List<Future<FileGroup>> reads = new ArrayList<>();
    for (int i = 0; i < groups.length; i++) {
      ManifestFile manifest = manifests.get(i);
      boolean isKnown = groups[i] != null;
      reads.add(
          isKnown ? null : ThreadPools.getWorkerPool().submit(() -> read(table, manifest, secret)));
    }
    for (int i = 0; i < groups.length; i++) {
      if (groups[i] == null) groups[i] = get(reads.get(i));
    }
    synchronized (KNOWN) {
      for (int i = 0; i < groups.length; i++) KNOWN.put(keys.get(i), groups[i]);
      forget(limit);
    }
    return Arrays.asList(groups);
  }

  /** A digest of the settings of a file IO, or the file IO itself if its settings are unknown. */
  private static Object store(FileIO io, byte[] secret) throws NoSuchAlgorithmException {
    String settings = settings(io);
    if (settings == null) return new IdentityRef(io, null);
    MessageDigest digest = MessageDigest.getInstance("SHA-256");
    digest.update(secret);
    byte[] bytes = digest.digest(settings.getBytes(StandardCharsets.UTF_8));
    return Base64.getEncoder().encodeToString(bytes);
  }

  /** Everything that decides which files a file IO reads, with its credentials; may be null. */
  private static String settings(FileIO io) {
    // it does not expose the configuration of the file IO that it wraps
    if (io instanceof EncryptingFileIO) return null;
    try {
      if (io.properties() == null) return null;
      StringBuilder settings = new StringBuilder(io.getClass().getName());
      settings.append(new TreeMap<>(io.properties()));
      if (io instanceof SupportsStorageCredentials vended) {
        for (StorageCredential credential : vended.credentials()) {
          settings.append(credential.prefix()).append(new TreeMap<>(credential.config()));
        }
      }
      Configuration conf = hadoopConf(io);
      if (conf != null) {
        // settings of file systems, and of the servers behind the logical names of HDFS
        for (String prefix : List.of("fs.", "dfs.")) {
          settings.append(new TreeMap<>(conf.getPropsWithPrefix(prefix)));
        }
      }
      return settings.toString();
    } catch (UnsupportedOperationException e) {
      return null; // a file IO may have no properties
    }
  }

  /** Hadoop's configuration, if the file IO uses one. */
  private static Configuration hadoopConf(FileIO io) {
    // Iceberg's interface extends Hadoop's only until 1.11
    if (io instanceof HadoopConfigurable own) return own.getConf();
    return io instanceof Configurable other ? other.getConf() : null;
  }

  private static FileGroup read(Table table, ManifestFile manifest, byte[] secret)
      throws Exception {
    try (CloseableIterable<String> paths =
        ManifestFiles.readPaths(manifest, table.io(), table.specs())) {
      return FileGroup.of(paths.iterator(), secret);
    }
  }

  private static FileGroup get(Future<FileGroup> read) throws Exception {
    try {
      return read.get();
    } catch (ExecutionException e) {
      if (e.getCause() instanceof Exception cause) throw cause;
      throw e;
    }
  }

  private static void forget(long limit) {
    long held = 0;
    for (FileGroup group : KNOWN.values()) held += group.bytes();
    // the map is in access order: the least recently used entry is first
    var groups = KNOWN.values().iterator();
    while (held > limit && groups.hasNext()) {
      held -= groups.next().bytes();
      groups.remove();
    }
  }
}
