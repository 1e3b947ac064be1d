package lakesieve;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * One spelling of a data file's path, whichever reader names it; see tables/paths.py, its twin.
 *
 * <p>Two files never share a spelling. A path that is spelled so already is given back as it is.
 */
public final class FilePaths {
  private static final Map<String, String> ALIASES = new HashMap<>();
  private static final List<String> BY_HOST = Arrays.asList("hdfs", "webhdfs", "abfs", "wasb");
  private static final List<String> FOLDERS = Arrays.asList("file", "hdfs", "webhdfs");

  static {
    ALIASES.put("s3a", "s3");
    ALIASES.put("s3n", "s3");
    ALIASES.put("abfss", "abfs");
    ALIASES.put("wasbs", "wasb");
  }

  private FilePaths() {}

  /** Get the one spelling of a path that is not percent-encoded. */
  public static String normal(String path) {
    if (path == null || path.startsWith("s3://")) return path;
    if (path.startsWith("file:/") && path.indexOf("//") < 0) return path;
    if (path.startsWith("/")) return "file:" + joined(path);
    int colon = schemeEnd(path);
    if (colon < 0) return path;
    String scheme = lower(path.substring(0, colon));
    if (ALIASES.containsKey(scheme)) scheme = (String) ALIASES.get(scheme);
    String rest = path.substring(colon + 1);
    String authority = "";
    boolean hasAuthority = rest.startsWith("//");
    if (hasAuthority) {
      int slash = rest.indexOf('/', 2);
      authority = slash < 0 ? rest.substring(2) : rest.substring(2, slash);
      rest = slash < 0 ? "" : rest.substring(slash);
    }
    if (BY_HOST.contains(scheme)) authority = lower(authority);
    if (FOLDERS.contains(scheme)) rest = joined(rest);
    boolean isLocal =
        scheme.equals("file") && (authority.isEmpty() || lower(authority).equals("localhost"));
    String host = isLocal ? "" : (hasAuthority ? "//" : "") + authority;
    String spelled = scheme + ":" + host + rest;
    // a million equal texts need not be kept beside those of the scan
    return spelled.equals(path) ? path : spelled;
  }

  /** Get the one spelling of a table's location: without a slash at its end. */
  public static String root(String location) {
    String spelled = normal(location);
    if (!spelled.endsWith("/")) return spelled;
    String shorter = spelled.substring(0, spelled.length() - 1);
    return shorter.endsWith(":") || shorter.endsWith("/") ? spelled : shorter;
  }

  /** Length of the scheme, of two letters at least: one is a drive. Negative without one. */
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

  /** Letters of ASCII alone, which names of schemes and hosts are. */
  private static String lower(String name) {
    char[] letters = name.toCharArray();
    for (int i = 0; i < letters.length; i++) {
      if (letters[i] >= 'A' && letters[i] <= 'Z') letters[i] += 'a' - 'A';
    }
    return new String(letters);
  }

  /** Slashes in a row as one. */
  private static String joined(String path) {
    if (path.indexOf("//") < 0) return path;
    StringBuilder one = new StringBuilder(path.length());
    char before = 0;
    for (int i = 0; i < path.length(); i++) {
      char c = path.charAt(i);
      if (c != '/' || before != '/') one.append(c);
      before = c;
    }
    return one.toString();
  }
}
