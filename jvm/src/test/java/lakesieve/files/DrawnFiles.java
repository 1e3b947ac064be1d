package lakesieve.files;

import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/** Catalogues of files, and paths drawn at random. */
final class DrawnFiles {
  static final byte[] SECRET = new byte[32];

  private DrawnFiles() {}

  /** The digests of paths, as Python sends them. */
  static byte[] digests(List<String> paths) {
    var bytes = new ByteArrayOutputStream();
    for (String path : paths) bytes.write(PathSet.digest(SECRET, path), 0, 16);
    return bytes.toByteArray();
  }

  /** A catalogue of paths, which come in two parts. */
  static CatalogueFiles catalogue(List<String> paths) {
    CatalogueFiles catalogue = new CatalogueFiles(paths.size());
    int half = paths.size() / 2;
    catalogue.add(digests(paths.subList(0, half)));
    catalogue.add(digests(paths.subList(half, paths.size())));
    return catalogue;
  }

  /** Some of the items, in any order. */
  static <T> List<T> sample(Random drawn, List<T> items, int size) {
    List<T> shuffled = new ArrayList<>(items);
    Collections.shuffle(shuffled, drawn);
    return shuffled.subList(0, size);
  }
}
