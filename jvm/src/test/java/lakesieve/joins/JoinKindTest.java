package lakesieve.joins;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What joins do with rows without a partner. */
class JoinKindTest {
  private static final List<String> KINDS =
      List.of(
          "Inner",
          "Cross",
          "LeftSemi",
          "LeftAnti",
          "LeftOuter",
          "RightOuter",
          "ExistenceJoin",
          "FullOuter",
          "OfALaterVersion");

  private static List<String> kinds(java.util.function.Predicate<JoinKind> test) {
    Stream<JoinKind> kinds = KINDS.stream().map(JoinKind::new);
    return kinds.filter(test).map(JoinKind::name).toList();
  }

  /** A kind of join that is not known needs the rows of both sides. */
  @Test
  void unknownKindsNeedAllRows() {
    assertEquals(
        List.of("LeftAnti", "LeftOuter", "ExistenceJoin", "FullOuter", "OfALaterVersion"),
        kinds(kind -> kind.needsUnmatched(true)));
    assertEquals(
        List.of("RightOuter", "FullOuter", "OfALaterVersion"),
        kinds(kind -> kind.needsUnmatched(false)));
  }

  /** Spark broadcasts the small side where rows without a partner are of use on neither. */
  @Test
  void eitherSideIsBroadcastWhereNoRowNeedsToStay() {
    assertEquals(List.of("Inner", "Cross", "LeftSemi"), kinds(JoinKind::broadcastsEitherSide));
  }

  /** Below a join, scans are searched where each row of the join comes from one row of theirs. */
  @Test
  void rowsOfOuterJoinsComeFromThePreservedSide() {
    assertEquals(
        List.of("Inner", "Cross", "LeftSemi", "LeftAnti", "LeftOuter", "ExistenceJoin"),
        kinds(kind -> kind.givesRowsOf(true)));
    assertEquals(List.of("Inner", "Cross", "RightOuter"), kinds(kind -> kind.givesRowsOf(false)));
  }
}
