package lakesieve.files;

import java.util.Base64;
import java.util.Map;

/**
 * The files that one index keeps. A file that the index does not cover matches every condition.
 *
 * @param catalogues of the index
 * @param kept a bit for each file of the catalogues, one after another
 * @param keptRows the rows to read of kept files, or null for all rows
 */
record IndexAnswer(CatalogueFiles[] catalogues, byte[] kept, KeptRows keptRows) implements Answers {
  static IndexAnswer read(CatalogueFiles[] catalogues, Map<?, ?> node) {
    byte[] kept = Base64.getDecoder().decode((String) node.get("keep"));
    long files = 0;
    for (CatalogueFiles catalogue : catalogues) files += catalogue.files();
    if (kept.length * 8L < files) {
      throw new IllegalArgumentException("bitmap shorter than the catalogues");
    }
    if (node.get("counts") == null) return new IndexAnswer(catalogues, kept, null);
    String counts = (String) node.get("counts");
    String rows = (String) node.get("rows");
    String records = (String) node.get("records");
    return new IndexAnswer(
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
