package lakesieve.files;

import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;

/**
 * The answers of indexes to the parts of a condition, combined as the condition combines its parts.
 *
 * <p>As JSON: {"op": "and" or "or", "args"}, {"op": "none"}, or {"index", "keep"}, a little-endian
 * bitmap in base64 over the catalogues of that index, one after another. "counts", "rows" and
 * perhaps "records" beside "keep" say which rows of the kept files are to be read, see {@link
 * KeptRows}.
 */
sealed interface Answers {
  /** Return whether the file whose digest has these two words is to be read. */
  boolean keep(long first, long second);

  /**
   * Return the rows of that file that are to be read, see {@link RowRanges}: null for all of them,
   * none for a file that is not kept.
   */
  long[] rows(long first, long second);

  /** Return the number of all rows of that file, or -1 where no index says it. */
  long records(long first, long second);

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
      return OfIndex.read(indexes[index.intValue()], node);
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

  private static long known(List<Answers> args, long first, long second) {
    return args.stream().mapToLong(arg -> arg.records(first, second)).max().orElse(-1);
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
    public long[] rows(long first, long second) {
      long[] rows = null;
      for (Answers arg : args) rows = RowRanges.intersection(rows, arg.rows(first, second));
      return rows;
    }

    @Override
    public long records(long first, long second) {
      return known(args, first, second);
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
    public long[] rows(long first, long second) {
      long[] rows = RowRanges.NONE;
      for (Answers arg : args) rows = RowRanges.union(rows, arg.rows(first, second));
      return rows;
    }

    @Override
    public long records(long first, long second) {
      return known(args, first, second);
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
   * @param keptRows the rows to read of kept files, or null for all rows
   */
  record OfIndex(CatalogueFiles[] catalogues, byte[] kept, KeptRows keptRows) implements Answers {
    static OfIndex read(CatalogueFiles[] catalogues, Map<?, ?> node) {
      byte[] kept = Base64.getDecoder().decode((String) node.get("keep"));
      long files = 0;
      for (CatalogueFiles catalogue : catalogues) files += catalogue.files();
      if (kept.length * 8L < files) {
        throw new IllegalArgumentException("bitmap shorter than the catalogues");
      }
      if (node.get("counts") == null) return new OfIndex(catalogues, kept, null);
      String counts = (String) node.get("counts");
      String rows = (String) node.get("rows");
      String records = (String) node.get("records");
      return new OfIndex(
          catalogues, kept, KeptRows.read(kept, Math.toIntExact(files), counts, rows, records));
    }

    @Override
    public boolean keep(long first, long second) {
      boolean covered = false;
      int start = 0;
      for (CatalogueFiles catalogue : catalogues) {
        int ordinal = catalogue.ordinal(first, second);
        if (ordinal >= 0) {
          int at = start + ordinal;
          if (isKept(at)) return true;
          covered = true;
        }
        start += catalogue.files();
      }
      return !covered;
    }

    @Override
    public long[] rows(long first, long second) {
      boolean covered = false;
      long[] rows = RowRanges.NONE;
      int start = 0;
      for (CatalogueFiles catalogue : catalogues) {
        int ordinal = catalogue.ordinal(first, second);
        if (ordinal >= 0) {
          int at = start + ordinal;
          if (isKept(at)) {
            rows = RowRanges.union(rows, keptRows == null ? null : keptRows.of(at));
          }
          covered = true;
        }
        start += catalogue.files();
      }
      return covered ? rows : null;
    }

    @Override
    public long records(long first, long second) {
      int start = 0;
      for (CatalogueFiles catalogue : catalogues) {
        int ordinal = catalogue.ordinal(first, second);
        if (keptRows != null && ordinal >= 0 && isKept(start + ordinal)) {
          return keptRows.records(start + ordinal);
        }
        start += catalogue.files();
      }
      return -1;
    }

    private boolean isKept(int at) {
      return (kept[at >> 3] >> (at & 7) & 1) == 1;
    }

    @Override
    public boolean mayKeep(FileGroup group) {
      return group.holds(catalogues, kept) || !group.isCovered(catalogues);
    }
  }
}
