package lakesieve;

/** An answer that could not be had, with a code for the report. */
public final class NoAnswerException extends RuntimeException {
  /** The code, as in the reports. */
  public final String code;

  /** Make it of a code and a sentence. */
  public NoAnswerException(String code, String detail) {
    super(detail);
    this.code = code;
  }

  /** The code of a failure. */
  public static String codeOf(Throwable t) {
    return t instanceof NoAnswerException ? ((NoAnswerException) t).code : "internal-error";
  }

  /** What to say of a failure. */
  public static String detailOf(Throwable t) {
    return t instanceof NoAnswerException ? t.getMessage() : String.valueOf(t);
  }
}
