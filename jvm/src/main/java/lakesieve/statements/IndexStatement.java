package lakesieve.statements;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.List;
import java.util.Map;

/**
 * A statement about indexes.
 *
 * @param action what to do, such as {@code create}
 * @param index the name of the index; null if the statement is about all indexes of a table
 * @param table the name of the table, as written
 * @param keys the keys of a new index, as written
 * @param options names and values of options, with names in lower case
 * @param lenient true for {@code IF EXISTS} and {@code IF NOT EXISTS}
 * @param named true if {@code USING lakesieve} says that no other index is meant
 */
public record IndexStatement(
    String action,
    String index,
    String table,
    List<String> keys,
    Map<String, String> options,
    boolean lenient,
    boolean named) {
  /** The statement as Python takes it. */
  public String json() {
    try {
      return new ObjectMapper().writeValueAsString(this);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException(e);
    }
  }
}
