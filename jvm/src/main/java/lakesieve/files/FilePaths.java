package lakesieve.files;

import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Normalizes the path of a data file, so that all readers spell it alike; see its twin
 * tables/paths.py.
 *
 * <p>Two files never share a spelling. A path that is normalized already is returned itself.
 */
public final class FilePaths {
  // schemes under which one store is called in several ways
  private static final Map<String, String> ALIASES =
      Map.of("s3a", "s3", "s3n", "s3", "abfss", "abfs", "wasbs", "wasb");
  // schemes whose authority is a host name, in which case does not matter
  private static final Set<String> BY_HOST = Set.of("hdfs", "webhdfs", "abfs", "wasb");
  // schemes of file systems, where two slashes equal one; in an object store they do not
  private static final Set<String> FOLDERS = Set.of("file", "hdfs", "webhdfs");
  private static final Pattern SLASHES = Pattern.compile("//+");

  private FilePaths() {}

  /** Return the spelling by which a file is known. The path must not be percent-encoded. */
  public static String normal(String path) {
    if (path == null || path.startsWith("s3://")) return path;
    if (path.startsWith("file:/") && !path.contains("//")) return path;
    if (path.startsWith("/")) return "file:" + joined(path);
    int colon = schemeEnd(path);
    if (colon < 0) return path;
    String named = lower(path.substring(0, colon));
    String scheme = ALIASES.getOrDefault(named, named);
    String rest = path.substring(colon + 1);
    String authority = "";
    boolean hasAuthority = rest.startsWith("//");
    if (hasAuthority) {
      int slash = rest.indexOf('/', 2);
      int end = slash < 0 ? rest.length() : slash;
      authority = rest.substring(2, end);
      rest = rest.substring(end);
    }
    if (BY_HOST.contains(scheme)) authority = lower(authority);
    if (FOLDERS.contains(scheme)) rest = joined(rest);
    boolean isLocal =
        scheme.equals("file") && (authority.isEmpty() || lower(authority).equals("localhost"));
    String host = isLocal ? "" : (hasAuthority ? "//" : "") + authority;
    String spelled = scheme + ":" + host + rest;
    // interning avoids a million copies of texts that the scan has already
    return spelled.equals(path) ? path : spelled;
  }

  /** Return the one spelling of a table's location: without a slash at its end. */
  public static String root(String location) {
    String spelled = normal(location);
    if (!spelled.endsWith("/")) return spelled;
    String shorter = spelled.substring(0, spelled.length() - 1);
    return shorter.endsWith(":") || shorter.endsWith("/") ? spelled : shorter;
  }

  /** Return the length of the scheme, or -1 without one. A single letter is a drive, no scheme. */
  private static int schemeEnd(String path) {
    for (int i = 0; i < path.length(); i++) {
      char c = path.charAt(i);
      if (c == ':') return i > 1 ? i : -1;
      boolean letter = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z';
      boolean other = c >= '0' && c <= '9' || c == '+' || c == '.' || c == '-';
      if (!letter && (i == 0 || !other)) return -1;
    }
    return -1;
  }

  /** Lower only ASCII letters, of which names of schemes and hosts consist. */
  private static String lower(String name) {
    char[] letters = name.toCharArray();
    for (int i = 0; i < letters.length; i++) {
      if (letters[i] >= 'A' && letters[i] <= 'Z') letters[i] += 'a' - 'A';
    }
    return new String(letters);
  }

  /** Replace slashes in a row by one. */
  private static String joined(String path) {
    return path.contains("//") ? SLASHES.matcher(path).replaceAll("/") : path;
  }
}
