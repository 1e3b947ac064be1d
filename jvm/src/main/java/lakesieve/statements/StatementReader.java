package lakesieve.statements;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.UnaryOperator;

/** Reads one statement about indexes. */
final class StatementReader {
  /** The name by which statements say that an index of lakesieve is meant. */
  private static final String OWN = "lakesieve";

  private static final String INDEX = "INDEX";
  private static final String INDEXES = "INDEXES";
  private static final Map<String, String> FORMS =
      Map.of(
          "CREATE",
          "CREATE INDEX [IF NOT EXISTS] name ON [TABLE] table USING lakesieve (key, ...) "
              + "[OPTIONS (name = value, ...)]",
          "DROP",
          "DROP INDEX [IF EXISTS] name ON [TABLE] table [USING lakesieve] [OPTIONS (...)]",
          "SHOW",
          "SHOW INDEXES ON [TABLE] table [USING lakesieve] [OPTIONS (...)]",
          "DESCRIBE",
          "DESCRIBE INDEX name ON [TABLE] table [USING lakesieve] [OPTIONS (...)]",
          "DESC",
          "DESC INDEX name ON [TABLE] table [USING lakesieve] [OPTIONS (...)]",
          "REFRESH",
          "REFRESH {INDEX name | INDEXES} ON [TABLE] table [USING lakesieve] [OPTIONS (...)]",
          "ALTER",
          "ALTER INDEX name ON [TABLE] table COMPACT [USING lakesieve] [OPTIONS (...)]");

  private final String sql;
  private final UnaryOperator<String> literals;
  private final List<Token> tokens;
  private int at = 0;

  private StatementReader(String sql, UnaryOperator<String> literals) {
    this.sql = sql;
    this.literals = literals;
    this.tokens = Token.of(sql, Integer.MAX_VALUE);
  }

  /** Return whether a text may be a statement about indexes. This must cost next to nothing. */
  static boolean isCandidate(String sql) {
    List<Token> head = Token.of(sql, 2);
    if (head.size() < 2 || head.get(0).kind() != Token.Kind.WORD) return false;
    String verb = head.get(0).text().toUpperCase(Locale.ROOT);
    boolean isOfOne = head.get(1).is(INDEX) && !verb.equals("SHOW");
    boolean isOfAll = head.get(1).is(INDEXES) && (verb.equals("SHOW") || verb.equals("REFRESH"));
    return FORMS.containsKey(verb) && (isOfOne || isOfAll);
  }

  /**
   * Read a statement.
   *
   * @param sql a candidate
   * @param literals returns the value of a literal that is given as written
   * @return null if the statement creates an index of another kind
   */
  static IndexStatement read(String sql, UnaryOperator<String> literals) throws StatementException {
    return new StatementReader(sql, literals).statement();
  }

  private IndexStatement statement() throws StatementException {
    String verb = next().text().toUpperCase(Locale.ROOT);
    boolean isOfAll = next().is(INDEXES);
    if (verb.equals("CREATE") && !createsOwn()) return null;
    boolean lenient = lenient(verb);
    String index = isOfAll ? null : name("the name of an index");
    if (verb.equals("SHOW") && (peek().is("IN") || peek().is("FROM"))) {
      next();
    } else {
      expect("ON");
    }
    // the table itself may be called TABLE
    if (peek().is("TABLE") && isName(tokens.get(at + 1))) next();
    String table = table();
    if (verb.equals("ALTER")) expect("COMPACT");
    boolean named = named(verb);
    List<String> keys = verb.equals("CREATE") ? keys() : List.of();
    Map<String, String> options = options();
    while (peek().is(';')) next();
    if (peek().kind() != Token.Kind.END) throw unexpected("the end of the statement");
    return new IndexStatement(action(verb), index, table, keys, options, lenient, named);
  }

  private static String action(String verb) {
    return switch (verb) {
      case "DESC" -> "describe";
      case "ALTER" -> "compact";
      default -> verb.toLowerCase(Locale.ROOT);
    };
  }

  /**
   * Return whether the kind of the new index, which the statement names before its keys, is ours.
   */
  private boolean createsOwn() {
    for (int k = at; k + 1 < tokens.size() && !tokens.get(k).is('('); k++) {
      String kind = tokens.get(k + 1).text().replace("`", "");
      if (tokens.get(k).is("USING")) return kind.equalsIgnoreCase(OWN);
    }
    return false;
  }

  private boolean lenient(String verb) throws StatementException {
    boolean creates = verb.equals("CREATE");
    if (!creates && !verb.equals("DROP")) return false;
    // an index may be called IF
    if (!peek().is("IF") || tokens.get(at + 1).is("ON")) return false;
    next();
    if (creates) expect("NOT");
    expect("EXISTS");
    return true;
  }

  private boolean named(String verb) throws StatementException {
    if (!peek().is("USING")) return false;
    next();
    if (!name("the kind of the index").equalsIgnoreCase(OWN)) throw unexpected(OWN);
    return true;
  }

  private static boolean isName(Token token) {
    return token.kind() == Token.Kind.NAME || token.kind() == Token.Kind.WORD;
  }

  /** Read a name, and return it without backquotes. */
  private String name(String what) throws StatementException {
    if (!isName(peek())) throw unexpected(what);
    Token token = next();
    if (token.kind() == Token.Kind.WORD) return token.text();
    String text = token.text();
    return text.substring(1, Math.max(1, text.length() - 1)).replace("``", "`");
  }

  /** Read the name of a table, and return it as written. */
  private String table() throws StatementException {
    StringBuilder parts = new StringBuilder();
    while (true) {
      if (!isName(peek())) throw unexpected("the name of a table");
      parts.append(next().text());
      if (!peek().is('.')) return parts.toString();
      parts.append(next().text());
    }
  }

  private List<String> keys() throws StatementException {
    if (!peek().is('(')) throw unexpected("keys in parentheses");
    int start = next().end();
    List<String> keys = new ArrayList<>();
    int depth = 0;
    while (true) {
      Token token = next();
      if (token.kind() == Token.Kind.END) throw unexpected("a closing parenthesis");
      if (depth == 0 && (token.is(',') || token.is(')'))) {
        String key = sql.substring(start, token.start()).strip();
        if (key.isEmpty()) throw unexpected("a key");
        keys.add(key);
        start = token.end();
        if (token.is(')')) return keys;
      } else if (token.is('(') || token.is('[')) {
        depth++;
      } else if (token.is(')') || token.is(']')) {
        depth--;
      }
    }
  }

  private Map<String, String> options() throws StatementException {
    Map<String, String> options = new LinkedHashMap<>();
    if (!peek().is("OPTIONS")) return options;
    next();
    if (!peek().is('(')) throw unexpected("options in parentheses");
    do {
      next();
      String name = option().toLowerCase(Locale.ROOT);
      if (peek().is('=')) next();
      if (options.put(name, value()) != null) throw unexpected("the option " + name + " once");
    } while (peek().is(','));
    if (!peek().is(')')) throw unexpected("a closing parenthesis");
    next();
    return options;
  }

  private String option() throws StatementException {
    return peek().kind() == Token.Kind.TEXT
        ? literals.apply(next().text())
        : name("the name of an option");
  }

  private String value() throws StatementException {
    int start = peek().start();
    int end = start;
    while (!peek().is(',') && !peek().is(')') && peek().kind() != Token.Kind.END) {
      end = next().end();
    }
    if (end == start) throw unexpected("a value");
    String value = literals.apply(sql.substring(start, end));
    if (value == null) throw unexpected("a literal");
    return value;
  }

  private Token peek() {
    return tokens.get(at);
  }

  private Token next() {
    Token token = tokens.get(at);
    // the last token, the end, stays
    if (at + 1 < tokens.size()) at++;
    return token;
  }

  private void expect(String keyword) throws StatementException {
    if (!peek().is(keyword)) throw unexpected(keyword);
    next();
  }

  private StatementException unexpected(String wanted) {
    Token found = peek();
    String place = found.kind() == Token.Kind.END ? "at the end" : "at " + found.text();
    String verb = tokens.get(0).text().toUpperCase(Locale.ROOT);
    return new StatementException(
        "invalid-argument",
        "The statement cannot be read: %s was expected %s.".formatted(wanted, place),
        "Write " + FORMS.get(verb) + ".");
  }
}
