package lakesieve.iceberg;

import java.io.IOException;
import java.net.URI;
import java.util.List;
import lakesieve.rows.ParquetReads;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;
import org.apache.iceberg.io.DelegatingInputStream;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.SeekableInputStream;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.FileMetaData;

/**
 * Opens one data file with the file IO of an Iceberg table, for a reader that knows Hadoop's file
 * systems only.
 *
 * <p>A file IO cannot be part of a configuration, so each thread says which file it is about to
 * open.
 */
public final class FileIoFileSystem extends FileSystem {
  private static final ThreadLocal<DataFile> OPENED = new ThreadLocal<>();

  private DataFile file;
  private URI uri;

  private record DataFile(FileIO io, String location, long size) {}

  /** Opens a file or reads a part of it. */
  @FunctionalInterface
  interface Action<T> {
    /** Do it. */
    T run() throws IOException;
  }

  /** Let files at locations like this one be opened by the file IO that {@link #open} is given. */
  static void configure(Configuration configuration, String location) {
    String scheme = new Path(location).toUri().getScheme();
    if (scheme == null) scheme = FileSystem.getDefaultUri(configuration).getScheme();
    configuration.setClassLoader(FileIoFileSystem.class.getClassLoader());
    configuration.set("fs." + scheme + ".impl", FileIoFileSystem.class.getName());
    configuration.setBoolean("fs." + scheme + ".impl.disable.cache", true);
  }

  /** Return what the footer of a file says of its columns; an action for {@link #open}. */
  static FileMetaData footer(String location) throws IOException {
    return ParquetReads.footer(location, onlyFor(location));
  }

  /** Return what the footer of a file says of its row groups; an action for {@link #open}. */
  static List<BlockMetaData> rowGroups(String location) throws IOException {
    return ParquetReads.rowGroups(location, onlyFor(location));
  }

  /** Return a configuration that suffices to open one file, and takes no time to make. */
  private static Configuration onlyFor(String location) {
    Configuration configuration = new Configuration(false);
    configure(configuration, location);
    return configuration;
  }

  /**
   * Open a file. Streams that the action opens stay usable afterwards.
   *
   * @param size of the file, in bytes
   */
  static <T> T open(FileIO io, String location, long size, Action<T> action) throws IOException {
    OPENED.set(new DataFile(io, location, size));
    try {
      return action.run();
    } finally {
      OPENED.remove();
    }
  }

  @Override
  public void initialize(URI name, Configuration configuration) throws IOException {
    super.initialize(name, configuration);
    file = OPENED.get();
    if (file == null) throw new IOException("no data file is about to be opened in this thread");
    uri = name;
  }

  @Override
  public FSDataInputStream open(Path path, int bufferSize) throws IOException {
    if (!path.equals(new Path(file.location()))) throw new IOException("another file: " + path);
    var input = file.io().newInputFile(file.location(), file.size());
    SeekableInputStream iceberg = input.newStream();
    return iceberg instanceof DelegatingInputStream behind
            && behind.getDelegate() instanceof FSDataInputStream hadoop
        ? new HadoopStream(iceberg, hadoop)
        : new FSDataInputStream(new Stream(iceberg));
  }

  @Override
  public FileStatus getFileStatus(Path path) {
    return new FileStatus(file.size(), false, 1, 1, 0, path);
  }

  @Override
  public URI getUri() {
    return uri;
  }

  @Override
  public Path getWorkingDirectory() {
    return new Path("/");
  }

  @Override
  public void setWorkingDirectory(Path folder) {
    throw readOnly();
  }

  @Override
  public FSDataOutputStream create(
      Path path,
      FsPermission permission,
      boolean overwrite,
      int bufferSize,
      short replication,
      long blockSize,
      Progressable progress) {
    throw readOnly();
  }

  @Override
  public FSDataOutputStream append(Path path, int bufferSize, Progressable progress) {
    throw readOnly();
  }

  @Override
  public boolean rename(Path from, Path to) {
    throw readOnly();
  }

  @Override
  public boolean delete(Path path, boolean recursive) {
    throw readOnly();
  }

  @Override
  public FileStatus[] listStatus(Path path) {
    throw readOnly();
  }

  @Override
  public boolean mkdirs(Path path, FsPermission permission) {
    throw readOnly();
  }

  private static UnsupportedOperationException readOnly() {
    return new UnsupportedOperationException("only one file can be opened here");
  }

  /** A stream of Hadoop's, which several ranges can be read from at once. */
  private static final class HadoopStream extends FSDataInputStream {
    // closes Hadoop's stream, also when it is no longer referred to
    private final SeekableInputStream iceberg;

    HadoopStream(SeekableInputStream iceberg, FSDataInputStream hadoop) {
      super(hadoop);
      this.iceberg = iceberg;
    }

    @Override
    public void close() throws IOException {
      iceberg.close();
    }
  }

  /** An Iceberg stream as Hadoop has it. */
  private static final class Stream extends FSInputStream {
    private final SeekableInputStream iceberg;

    Stream(SeekableInputStream iceberg) {
      this.iceberg = iceberg;
    }

    @Override
    public int read() throws IOException {
      return iceberg.read();
    }

    @Override
    public int read(byte[] bytes, int offset, int length) throws IOException {
      return iceberg.read(bytes, offset, length);
    }

    @Override
    public void seek(long position) throws IOException {
      iceberg.seek(position);
    }

    @Override
    public long getPos() throws IOException {
      return iceberg.getPos();
    }

    @Override
    public boolean seekToNewSource(long position) {
      return false;
    }

    @Override
    public void close() throws IOException {
      iceberg.close();
    }
  }
}
