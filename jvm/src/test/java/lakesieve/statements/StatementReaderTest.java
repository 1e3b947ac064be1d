package lakesieve.statements;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** How statements about indexes are read. */
class StatementReaderTest {
  /** Literals as Spark's parser reads them, for the few that are used here. */
  private static String literal(String text) {
    if (text.equals("a_column")) return null;
    return text.startsWith("'") ? text.substring(1, text.length() - 1) : text;
  }

  private static IndexStatement read(String sql) throws StatementException {
    assertTrue(StatementReader.isCandidate(sql), sql);
    return StatementReader.read(sql, StatementReaderTest::literal);
  }

  private static String refusal(String sql) {
    return assertThrows(StatementException.class, () -> read(sql)).getMessage();
  }

  @Test
  void readsAllPartsOfACreation() throws Exception {
    IndexStatement statement =
        read(
            "CREATE INDEX IF NOT EXISTS by_both ON TABLE lake.`my db`.`a``b` USING lakesieve "
                + "(tenant, `odd name`.part) OPTIONS (budget = '2 bits', REPLACE true, n=-1);");

    assertEquals("create", statement.action());
    assertEquals("by_both", statement.index());
    assertEquals("lake.`my db`.`a``b`", statement.table());
    assertEquals(List.of("tenant", "`odd name`.part"), statement.keys());
    assertEquals(Map.of("budget", "2 bits", "replace", "true", "n", "-1"), statement.options());
    assertTrue(statement.lenient());
  }

  @Test
  void readsExpressionsAsWritten() throws Exception {
    assertEquals(
        List.of("get_json_object(p, '$.a,(b')", "coalesce(a, (b + 1))", "m['x,)']"),
        read("CREATE INDEX i ON t USING lakesieve (get_json_object(p, '$.a,(b'), "
                + "coalesce(a, (b + 1)), m['x,)'])")
            .keys());
  }

  @Test
  void skipsComments() throws Exception {
    IndexStatement statement =
        read("-- a line\n/* a /* nested */ one */ drop /* now */ index i -- its name\n on t");

    assertEquals("drop", statement.action());
    assertEquals("i", statement.index());
    assertEquals("t", statement.table());
  }

  @Test
  void readsEveryStatement() throws Exception {
    assertNull(read("SHOW INDEXES IN t").index());
    assertEquals("show", read("show indexes from db.t").action());
    assertEquals("describe", read("DESC INDEX i ON t").action());
    assertEquals("refresh", read("REFRESH INDEX i ON TABLE t OPTIONS (dry_run = true)").action());
    assertEquals("refresh", read("refresh indexes on t").action());
    assertNull(read("REFRESH INDEXES ON t USING lakesieve").index());
    assertEquals("compact", read("ALTER INDEX i ON t COMPACT").action());
    assertTrue(read("DROP INDEX IF EXISTS i ON t").lenient());
    assertTrue(read("DROP INDEX i ON t USING lakesieve").named());
  }

  /** Words of the statements are no reserved words. */
  @Test
  void namesMayBeKeywords() throws Exception {
    assertEquals("if", read("DROP INDEX if ON t").index());
    assertEquals("table", read("SHOW INDEXES ON table").table());
    assertEquals("table", read("SHOW INDEXES ON TABLE table").table());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "  -- nothing",
        "SELECT 1",
        "CREATE TABLE t (a INT)",
        "SHOW TABLES",
        "DROP INDEXES ON t",
        "SHOW INDEX ON t",
        "SHOW",
        "DROP TABLE index",
        "/*+ hint */ SHOW INDEXES ON t",
        "'SHOW INDEXES ON t'",
        "`CREATE` INDEX"
      })
  void otherStatementsAreNoCandidates(String sql) {
    assertFalse(StatementReader.isCandidate(sql));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "CREATE INDEX i ON t (a)",
        "CREATE INDEX i ON t USING bloom_filters (a)",
        "CREATE INDEX i ON t (a) USING lakesieve",
        "CREATE INDEX"
      })
  void indexesOfOthersAreLeftToOthers(String sql) throws Exception {
    assertNull(read(sql));
  }

  @Test
  void errorsSayWhatIsWrong() {
    assertTrue(refusal("SHOW INDEXES t").contains("ON was expected at t. Write SHOW INDEXES ON"));
    assertTrue(refusal("DROP INDEX i ON").contains("the name of a table was expected at the end"));
    assertTrue(refusal("REFRESH INDEX i ON t now").contains("at now"));
    assertTrue(refusal("ALTER INDEX i ON t").contains("COMPACT was expected at the end"));
    String create = "CREATE INDEX i ON t USING lakesieve ";
    assertTrue(refusal(create + "(a").contains("closing parenthesis"));
    assertTrue(refusal(create + "()").contains("a key was expected"));
    assertTrue(refusal(create + "(a) OPTIONS (b = a_column)").contains("a literal was expected"));
    assertTrue(refusal(create + "(a) OPTIONS (b = 1, b = 2)").contains("the option b once"));
    assertTrue(refusal("DROP INDEX i ON t USING other").startsWith("[invalid-argument]"));
  }
}
