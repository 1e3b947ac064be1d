package lakesieve;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.hadoop.conf.Configurable;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.ManifestFiles;
import org.apache.iceberg.Table;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.util.ThreadPools;

/**
 * The live files of manifests, each read once by this process: a manifest never changes. The least
 * recently used go when together they take more bytes than they may.
 *
 * <p>All sessions share them. The same path is another manifest at another endpoint, and one that
 * other credentials may not read; so a key has the fingerprint of the settings of the file IO.
 */
public final class KnownManifests {
  private static final LinkedHashMap<String, FileGroup> KNOWN = new LinkedHashMap<>(16, 0.75f, true);

  private KnownManifests() {}

  /** The files of some manifests of a table, by digests with a secret; reads those not known. */
  public static List<FileGroup> of(
      Table table, List<ManifestFile> manifests, byte[] secret, long limit) throws Exception {
    String suffix = "\0" + Base64.getEncoder().encodeToString(fingerprint(table, secret));
    FileGroup[] found = new FileGroup[manifests.size()];
    List<Future<FileGroup>> reading = new ArrayList<>();
    synchronized (KNOWN) {
      for (int i = 0; i < found.length; i++) {
        found[i] = (FileGroup) KNOWN.get(((ManifestFile) manifests.get(i)).path() + suffix);
      }
    }
    for (int i = 0; i < found.length; i++) {
      Callable<FileGroup> read = new Reading(table, (ManifestFile) manifests.get(i), secret);
      reading.add(found[i] == null ? ThreadPools.getWorkerPool().submit(read) : null);
    }
    for (int i = 0; i < found.length; i++) {
      if (found[i] == null) found[i] = get((Future<FileGroup>) reading.get(i));
    }
    synchronized (KNOWN) {
      for (int i = 0; i < found.length; i++) {
        KNOWN.put(((ManifestFile) manifests.get(i)).path() + suffix, found[i]);
      }
      forget(limit);
    }
    return Arrays.asList(found);
  }

  /** A digest of the secret and of the settings with which the files of a table are reached. */
  private static byte[] fingerprint(Table table, byte[] secret) throws Exception {
    MessageDigest digest = MessageDigest.getInstance("SHA-256");
    digest.update(secret);
    String settings = table.io().getClass().getName() + IcebergAccess.fileIo(table);
    if (table.io() instanceof Configurable) {
      // a file IO of Hadoop has its endpoint and credentials there
      Configuration conf = ((Configurable) table.io()).getConf();
      settings += new TreeMap<>(conf.getPropsWithPrefix("fs."));
    }
    return digest.digest(settings.getBytes(StandardCharsets.UTF_8));
  }

  private static FileGroup get(Future<FileGroup> reading) throws Exception {
    try {
      return (FileGroup) reading.get();
    } catch (ExecutionException e) {
      if (e.getCause() instanceof Exception) throw (Exception) e.getCause();
      throw e;
    }
  }

  private static void forget(long limit) {
    long held = 0;
    for (Object group : KNOWN.values()) held += ((FileGroup) group).bytes();
    List<String> oldestFirst = new ArrayList<>(KNOWN.keySet());
    for (String name : oldestFirst) {
      if (held <= limit) return;
      held -= ((FileGroup) KNOWN.remove(name)).bytes();
    }
  }

  /** Reads one manifest. */
  private static final class Reading implements Callable<FileGroup> {
    private final Table table;
    private final ManifestFile manifest;
    private final byte[] secret;

    Reading(Table table, ManifestFile manifest, byte[] secret) {
      this.table = table;
      this.manifest = manifest;
      this.secret = secret;
    }

    @Override
    public FileGroup call() throws Exception {
      CloseableIterable<String> paths =
          ManifestFiles.readPaths(this.manifest, this.table.io(), this.table.specs());
      try {
        return FileGroup.of(paths.iterator(), this.secret);
      } finally {
        paths.close();
      }
    }
  }
}
