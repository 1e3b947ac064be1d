package lakesieve.predicate;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.time.ZoneId;
import java.time.zone.ZoneRules;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.UUID;
import org.apache.spark.package$;
import org.apache.spark.sql.catalyst.util.DateTimeUtils;
import org.apache.spark.sql.internal.SQLConf;

/** What the values of expressions depend on besides their arguments, as parts of their trees. */
final class SessionValues {
  private static final String ICU = "spark.sql.icu.caseMappings.enabled";

  private static final int SHORTEST_FLOATS = 19;
  private static final List<String> JSON =
      List.of(
          "spark.sql.columnNameOfCorruptRecord",
          "spark.sql.json.enableExactStringParsing",
          "spark.sql.json.enablePartialResults",
          "spark.sql.legacy.json.allowEmptyString.enabled");

  private SessionValues() {}

  /** The version of Spark, without the number of its maintenance release. */
  static Map<String, Object> spark() {
    String[] parts = package$.MODULE$.SPARK_VERSION().split("\\.", 3);
    return of(Map.of("Spark", parts[0] + "." + parts[1]));
  }

  /** The mode in which an expression treats overflows and invalid values. */
  static Map<String, Object> ansi(String mode) {
    return of(Map.of("mode", mode));
  }

  /** How arithmetic treats overflows, and whether decimals may lose digits. */
  static Map<String, Object> arithmetic(String mode, String losesDigits) {
    Map<String, String> values = new LinkedHashMap<>();
    values.put("mode", mode);
    values.put("decimals may lose digits", losesDigits);
    return of(values);
  }

  /** A time zone, and the rules that this version of Java has for it. */
  static Map<String, Object> zone(String name) {
    Map<String, String> values = new LinkedHashMap<>();
    values.put("time zone", name);
    ZoneId zone = DateTimeUtils.getZoneId(name);
    ZoneRules rules = zone.getRules();
    if (!rules.isFixedOffset()) {
      String text = rules.getTransitions().toString() + rules.getTransitionRules();
      values.put("time zone rules", digest(text));
    }
    return of(values);
  }

  /** What maps letters to lower and upper case: ICU, or Java with the language of its locale. */
  static Map<String, Object> caseMapping() {
    String icu = icuVersion();
    boolean isOn = SQLConf.get().getConfString(ICU, "true").equals("true");
    if (icu != null && isOn) return of(Map.of("letter case", "ICU " + icu));
    String java = Runtime.version().feature() + " " + Locale.getDefault().getLanguage();
    return of(Map.of("letter case", "Java " + java));
  }

  /** The way in which Java prints floats. Since version 19, some floats have fewer digits. */
  static Map<String, Object> numberTexts() {
    boolean isShort = Runtime.version().feature() >= SHORTEST_FLOATS;
    return of(Map.of("numbers as text", isShort ? "Java 19 and later" : "Java before 19"));
  }

  /** The settings with which Spark reads the fields of a JSON text. */
  static Map<String, Object> json() {
    Map<String, String> values = new LinkedHashMap<>();
    for (String name : JSON) values.put(name, setting(name));
    return of(values);
  }

  private static String setting(String name) {
    try {
      return SQLConf.get().getConfString(name);
    } catch (NoSuchElementException e) {
      return "unknown to this version of Spark";
    }
  }

  /** Return the version of ICU, which Spark has since version 4.0, or null. */
  private static String icuVersion() {
    if (package$.MODULE$.SPARK_VERSION().startsWith("3.")) return null;
    try {
      Class<?> versions = Class.forName("com.ibm.icu.util.VersionInfo");
      return String.valueOf(versions.getField("ICU_VERSION").get(null));
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("Spark has no ICU", e);
    }
  }

  private static String digest(String text) {
    return UUID.nameUUIDFromBytes(text.getBytes(UTF_8)).toString();
  }

  private static Map<String, Object> of(Map<String, String> values) {
    return Collections.singletonMap("session", values);
  }
}
