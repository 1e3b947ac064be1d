package lakesieve;

import java.lang.ref.ReferenceQueue;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hudi.HoodieFileIndex;
import org.apache.hudi.common.model.FileSlice;

/**
 * The lists of file slices that Hudi's file indexes keep, in groups: whether any slice of a group is
 * kept is known without looking at each.
 *
 * <p>A file index makes the list of a partition once, never changes it, and makes another when it is
 * refreshed. So groups belong to the list itself, and go with it.
 */
public final class SliceGroups {
  /** Slices of a group; the last one of a list may have fewer. */
  public static final int SIZE = 256;

  private final Map<IdentitySet.Ref, FileGroup[]> known = new HashMap<>();
  private final ReferenceQueue<Object> collected = new ReferenceQueue<>();
  private byte[] secret;

  /**
   * The groups of a list, in its order.
   *
   * @param index that made the list
   * @param slices of a partition
   * @param secret of the digests, see {@link PathSet}
   */
  public synchronized FileGroup[] of(HoodieFileIndex index, List<FileSlice> slices, byte[] secret) {
    Object gone;
    while ((gone = this.collected.poll()) != null) this.known.remove(gone);
    if (!Arrays.equals(secret, this.secret)) this.known.clear();
    this.secret = secret;
    FileGroup[] groups = (FileGroup[]) this.known.get(new IdentitySet.Ref(slices, null));
    if (groups == null || files(groups) != slices.size()) {
      groups = new FileGroup[(slices.size() + SIZE - 1) / SIZE];
      for (int i = 0; i < groups.length; i++) {
        int end = Math.min(slices.size(), (i + 1) * SIZE);
        groups[i] = group(index, slices.subList(i * SIZE, end), secret);
      }
      this.known.put(new IdentitySet.Ref(slices, this.collected), groups);
    }
    return groups;
  }

  private static int files(FileGroup[] groups) {
    int last = groups.length - 1;
    return last < 0 ? 0 : last * SIZE + groups[last].files();
  }

  private static FileGroup group(HoodieFileIndex index, List<FileSlice> slices, byte[] secret) {
    List<String> identities = new ArrayList<>();
    for (FileSlice slice : slices) identities.add(HudiFiles.identity(index, slice));
    return FileGroup.of(identities.iterator(), secret);
  }
}
