package lakesieve.files;

/** A list of data files of which a scan reads only some rows. */
public interface RestrictedFiles {
  /** Return the rows to read, or null if all rows of all files are read. */
  FileRows rows();
}
