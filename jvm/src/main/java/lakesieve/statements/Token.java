package lakesieve.statements;

import java.util.ArrayList;
import java.util.List;

/**
 * A part of a statement: a word, a quoted name, a text, a number or a single character.
 *
 * @param kind what it is
 * @param text what it says, as written
 * @param start its position in the statement
 */
record Token(Kind kind, String text, int start) {
  /** The kinds of tokens. */
  enum Kind {
    /** A name or a keyword, or a number. */
    WORD,
    /** A name in backquotes. */
    NAME,
    /** A text in quotes. */
    TEXT,
    /** Any other character. */
    SYMBOL,
    /** The end of the statement. */
    END
  }

  /** The position behind the token. */
  int end() {
    return start + text.length();
  }

  /** True for this keyword, in upper or lower case. */
  boolean is(String keyword) {
    return kind == Kind.WORD && text.equalsIgnoreCase(keyword);
  }

  /** True for this character. */
  boolean is(char symbol) {
    return kind == Kind.SYMBOL && text.charAt(0) == symbol;
  }

  /**
   * Return the first tokens of a statement, without blanks and comments.
   *
   * @param most the largest number of tokens before the end
   */
  static List<Token> of(String sql, int most) {
    List<Token> tokens = new ArrayList<>();
    int at = afterBlanks(sql, 0);
    while (at < sql.length() && tokens.size() < most) {
      Token token = at(sql, at);
      tokens.add(token);
      at = afterBlanks(sql, token.end());
    }
    if (at >= sql.length()) tokens.add(new Token(Kind.END, "", sql.length()));
    return tokens;
  }

  private static Token at(String sql, int start) {
    char first = sql.charAt(start);
    if (first == '`' || first == '\'' || first == '"') {
      Kind kind = first == '`' ? Kind.NAME : Kind.TEXT;
      return new Token(kind, sql.substring(start, afterQuoted(sql, start)), start);
    }
    int end = start;
    while (end < sql.length() && isPartOfWord(sql.charAt(end))) end++;
    if (end > start) return new Token(Kind.WORD, sql.substring(start, end), start);
    return new Token(Kind.SYMBOL, sql.substring(start, start + 1), start);
  }

  private static boolean isPartOfWord(char c) {
    return c == '_' || Character.isLetterOrDigit(c) || Character.isSurrogate(c);
  }

  /** Return the position behind a quoted part. Without a closing quote, it ends the statement. */
  private static int afterQuoted(String sql, int start) {
    char quote = sql.charAt(start);
    for (int at = start + 1; at < sql.length(); at++) {
      char c = sql.charAt(at);
      if (c == '\\' && quote != '`') {
        at++;
      } else if (c == quote) {
        // a doubled quote is part of the name or the text
        if (at + 1 < sql.length() && sql.charAt(at + 1) == quote) {
          at++;
        } else {
          return at + 1;
        }
      }
    }
    return sql.length();
  }

  private static int afterBlanks(String sql, int start) {
    int at = start;
    while (at < sql.length()) {
      if (Character.isWhitespace(sql.charAt(at))) {
        at++;
      } else if (sql.startsWith("--", at)) {
        int line = sql.indexOf('\n', at);
        at = line < 0 ? sql.length() : line + 1;
      } else if (sql.startsWith("/*", at) && !sql.startsWith("/*+", at)) {
        at = afterComment(sql, at);
      } else {
        return at;
      }
    }
    return sql.length();
  }

  /** Return the position behind a comment. Comments may contain comments. */
  private static int afterComment(String sql, int start) {
    int depth = 0;
    for (int at = start; at < sql.length(); at++) {
      if (sql.startsWith("/*", at)) {
        depth++;
        at++;
      } else if (sql.startsWith("*/", at)) {
        depth--;
        at++;
        if (depth == 0) return at + 1;
      }
    }
    return sql.length();
  }
}
