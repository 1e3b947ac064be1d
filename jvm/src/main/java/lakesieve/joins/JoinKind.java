package lakesieve.joins;

import org.apache.spark.sql.catalyst.plans.logical.Join;

/**
 * What a join does with unmatched rows.
 *
 * @param name the class of Spark's join type
 */
record JoinKind(String name) {
  static JoinKind of(Join join) {
    String name = join.joinType().getClass().getSimpleName();
    return new JoinKind(name.endsWith("$") ? name.substring(0, name.length() - 1) : name);
  }

  /** True if the join keeps unmatched rows of a side. */
  boolean needsUnmatched(boolean ofLeft) {
    return switch (name) {
      case "Inner", "Cross", "LeftSemi" -> false;
      case "RightOuter" -> !ofLeft;
      case "LeftOuter", "LeftAnti", "ExistenceJoin" -> ofLeft;
      default -> true;
    };
  }

  /**
   * True if Spark may broadcast either side, and so the small one: the join keeps unmatched rows of
   * neither side.
   */
  boolean broadcastsEitherSide() {
    return isInner() || name.equals("LeftSemi");
  }

  /** True when each row of the join comes from one row of a side. */
  boolean givesRowsOf(boolean ofLeft) {
    if (isInner()) return true;
    return ofLeft
        ? name.startsWith("Left") || name.equals("ExistenceJoin")
        : name.equals("RightOuter");
  }

  private boolean isInner() {
    return name.equals("Inner") || name.equals("Cross");
  }
}
