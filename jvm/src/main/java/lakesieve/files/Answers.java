package lakesieve.files;

import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;

/**
 * The answers of indexes to the parts of a condition, combined as the condition combines its parts.
 *
 * <p>As JSON: {"op": "and" or "or", "args"}, {"op": "none"}, or {"index", "keep"}, a little-endian
 * bitmap in base64 over the catalogues of that index, one after another.
 */
sealed interface Answers {
  /** Return whether the file whose digest has these two words is to be read. */
  boolean keep(long first, long second);

  /** Return false when none of a group of files is to be read. */
  boolean mayKeep(FileGroup group);

  /**
   * Read answers from JSON.
   *
   * @param node the JSON document, as maps and lists
   * @param indexes the catalogues of each index
   */
  static Answers read(Map<?, ?> node, CatalogueFiles[][] indexes) {
    if (node.get("index") instanceof Number index) {
      return OfIndex.read(indexes[index.intValue()], (String) node.get("keep"));
    }
    List<Answers> args = new ArrayList<>();
    if (node.get("args") instanceof List<?> listed) {
      for (Object arg : listed) args.add(read((Map<?, ?>) arg, indexes));
    }
    return switch (String.valueOf(node.get("op"))) {
      case "and" -> new All(args);
      case "or" -> new Any(args);
      case "none" -> new Any(List.of());
      default -> throw new IllegalArgumentException("unknown operator " + node.get("op"));
    };
  }

  /** The files that all answers keep. */
  record All(List<Answers> args) implements Answers {
    @Override
    public boolean keep(long first, long second) {
      for (Answers arg : args) {
        if (!arg.keep(first, second)) return false;
      }
      return true;
    }

    @Override
    public boolean mayKeep(FileGroup group) {
      return args.stream().allMatch(arg -> arg.mayKeep(group));
    }
  }

  /** The files that any answer keeps: none at all without answers. */
  record Any(List<Answers> args) implements Answers {
    @Override
    public boolean keep(long first, long second) {
      for (Answers arg : args) {
        if (arg.keep(first, second)) return true;
      }
      return false;
    }

    @Override
    public boolean mayKeep(FileGroup group) {
      return args.stream().anyMatch(arg -> arg.mayKeep(group));
    }
  }

  /**
   * The files that one index keeps. A file that the index does not cover matches every condition.
   *
   * @param catalogues of the index
   * @param kept a bit for each file of the catalogues, one after another
   */
  record OfIndex(CatalogueFiles[] catalogues, byte[] kept) implements Answers {
    static OfIndex read(CatalogueFiles[] catalogues, String base64) {
      byte[] kept = Base64.getDecoder().decode(base64);
      long files = 0;
      for (CatalogueFiles catalogue : catalogues) files += catalogue.files();
      if (kept.length * 8L < files) {
        throw new IllegalArgumentException("bitmap shorter than the catalogues");
      }
      return new OfIndex(catalogues, kept);
    }

    @Override
    public boolean keep(long first, long second) {
      boolean covered = false;
      int start = 0;
      for (CatalogueFiles catalogue : catalogues) {
        int ordinal = catalogue.ordinal(first, second);
        if (ordinal >= 0) {
          int at = start + ordinal;
          if ((kept[at >> 3] >> (at & 7) & 1) == 1) return true;
          covered = true;
        }
        start += catalogue.files();
      }
      return !covered;
    }

    @Override
    public boolean mayKeep(FileGroup group) {
      return group.holds(catalogues, kept) || !group.isCovered(catalogues);
    }
  }
}
