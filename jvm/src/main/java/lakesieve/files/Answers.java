package lakesieve.files;

import java.util.ArrayList;
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
sealed interface Answers permits Answers.All, Answers.Any, IndexAnswer {
  /** Return whether the file whose digest has these two words is to be read. */
  boolean keep(long first, long second);

  /**
   * Return the rows to read of that file, see {@link RowRanges}. Null means all rows. A file that
   * is not kept has no rows to read.
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
      return IndexAnswer.read(indexes[index.intValue()], node);
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
}
