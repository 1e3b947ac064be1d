package lakesieve.rows;

import static org.junit.jupiter.api.Assertions.assertThrows;

import lakesieve.rows.RowGroupAnswers.UnknownVisitorException;
import org.junit.jupiter.api.Test;

/** Answers to Parquet's questions about row groups. */
class RowGroupAnswersTest {
  /** A question of a newer Parquet is not answered, so that all rows of the file are read. */
  @Test
  void refusesAQuestionThatIsNotKnown() {
    RowGroupAnswers answers = new RowGroupAnswers(new long[] {0, 10}, 1000);

    assertThrows(UnknownVisitorException.class, () -> answers.apply("predicate", "visitor"));
  }
}
