package lakesieve.rule;

/** The planner does not answer, for a reason that has a code in reports. */
public final class NoAnswerException extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** The code of the reason, as in reports. */
  public final String code;

  /** Create the exception from a code and a sentence. */
  public NoAnswerException(String code, String detail) {
    super(detail);
    this.code = code;
  }

  /** Return the code of a failure. */
  public static String codeOf(Throwable failure) {
    return failure instanceof NoAnswerException known ? known.code : "internal-error";
  }

  /** Return the text about a failure in reports. */
  public static String detailOf(Throwable failure) {
    return failure instanceof NoAnswerException ? failure.getMessage() : String.valueOf(failure);
  }
}
