package lakesieve.deletes;

import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileMetadata;
import org.apache.iceberg.PartitionSpec;

/** Metadata of files that do not exist. */
final class DeleteFilesForTests {
  private DeleteFilesForTests() {}

  /** An equality delete file of an unpartitioned table. */
  static DeleteFile equality(String path, long records, int... ids) {
    return equality(PartitionSpec.unpartitioned(), null, path, records, ids);
  }

  /** An equality delete file of a partition, which is null for a spec without fields. */
  static DeleteFile equality(
      PartitionSpec spec, String partition, String path, long records, int... ids) {
    FileMetadata.Builder builder =
        FileMetadata.deleteFileBuilder(spec)
            .ofEqualityDeletes(ids)
            .withPath(path)
            .withFormat(FileFormat.PARQUET)
            .withFileSizeInBytes(1)
            .withRecordCount(records);
    if (partition != null) builder.withPartitionPath(partition);
    return builder.build();
  }

  /** A data file of a partition. */
  static DataFile data(PartitionSpec spec, String partition, String path) {
    DataFiles.Builder builder =
        DataFiles.builder(spec)
            .withPath(path)
            .withFormat(FileFormat.PARQUET)
            .withFileSizeInBytes(1)
            .withRecordCount(1);
    if (partition != null) builder.withPartitionPath(partition);
    return builder.build();
  }
}
