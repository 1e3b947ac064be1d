package lakesieve.hudi;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import lakesieve.files.FileGroup;
import lakesieve.files.IdentityMap;
import lakesieve.files.PathSet;
import org.apache.hudi.HoodieFileIndex;
import org.apache.hudi.common.model.FileSlice;

/**
 * The lists of file slices in Hudi's file indexes, in groups. Whether any slice of a group is kept
 * is known without checking each slice.
 *
 * <p>A file index makes the list of a partition once and never changes it. When it is refreshed, it
 * makes another list. So the groups belong to the list itself, and are dropped with it.
 */
public final class SliceGroups {
  /** Number of slices of a group. The last group of a list may have fewer. */
  public static final int SIZE = 256;

  private IdentityMap<List<FileGroup>> known = new IdentityMap<>();
  private byte[] secret;

  /**
   * The groups of a list, in its order.
   *
   * @param index that made the list
   * @param slices of a partition
   * @param secret of the digests, see {@link PathSet}
   */
  public synchronized List<FileGroup> of(
      HoodieFileIndex index, List<FileSlice> slices, byte[] secret) {
    if (!Arrays.equals(secret, this.secret)) known = new IdentityMap<>();
    this.secret = secret;
    List<FileGroup> groups = known.get(slices);
    if (groups == null || files(groups) != slices.size()) {
      groups = new ArrayList<>();
      for (int start = 0; start < slices.size(); start += SIZE) {
        int end = Math.min(slices.size(), start + SIZE);
        groups.add(group(index, slices.subList(start, end), secret));
      }
      known.put(slices, groups);
    }
    return groups;
  }

  private static int files(List<FileGroup> groups) {
    int last = groups.size() - 1;
    return last < 0 ? 0 : last * SIZE + groups.get(last).files();
  }

  private static FileGroup group(HoodieFileIndex index, List<FileSlice> slices, byte[] secret) {
    var identities = slices.stream().map(slice -> HudiFiles.identity(index, slice)).iterator();
    return FileGroup.of(identities, secret);
  }
}
