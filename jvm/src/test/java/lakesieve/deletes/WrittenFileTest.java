package lakesieve.deletes;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.ObjectMapper;
import org.junit.jupiter.api.Test;

/** What Python says of new delete files. */
class WrittenFileTest {
  /** The JSON that Python writes is read by Spark's version of Jackson. */
  @Test
  void isReadFromJson() throws Exception {
    String json =
        "[{\"file\": \"d.puffin\", \"data_file\": \"a.parquet\", \"offset\": 4, \"length\": 40,"
            + " \"positions\": 2, \"size\": 90, \"first\": 1, \"last\": 5000000000}]";

    WrittenFile[] files = new ObjectMapper().readValue(json, WrittenFile[].class);

    assertEquals(
        new WrittenFile("d.puffin", "a.parquet", 4, 40, 2, 90, 1, 5_000_000_000L), files[0]);
  }
}
