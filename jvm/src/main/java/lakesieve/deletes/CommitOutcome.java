package lakesieve.deletes;

/**
 * How an attempt to commit ended.
 *
 * @param status "committed", "rejected" or "unknown"
 * @param reason why it did not succeed; empty if it did
 */
public record CommitOutcome(String status, String reason) {
  static CommitOutcome committed() {
    return new CommitOutcome("committed", "");
  }

  /** Nothing was committed. */
  static CommitOutcome rejected(String reason) {
    return new CommitOutcome("rejected", reason);
  }

  /** The commit may have succeeded. */
  static CommitOutcome unknown(String reason) {
    return new CommitOutcome("unknown", reason);
  }
}
