"""Spark's failures become one line that says what to do."""

from __future__ import annotations

import pytest

from lakesieve.errors import ErrorKind, NotFoundError, SetupError, StorageError
from lakesieve.spark.tables.failures import explained

TRACE = """Job aborted due to stage failure: Task 0 in stage 3.0 failed 4 times (TID 7):
org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "worker.py", line 1240, in main
ModuleNotFoundError: No module named 'lakesieve'
"""
CORRUPT = """An error occurred while calling o1.getResult.
: org.apache.spark.SparkException: Exception thrown in awaitResult:
Caused by: org.apache.spark.SparkException: [FAILED_READ_FILE.NO_HINT] Encountered error while \
reading file s3a://b/t/a%20b.parquet.  SQLSTATE: KD001
\tat org.apache.spark.sql.Foo.bar(Foo.scala:1)
Caused by: java.lang.RuntimeException: s3a://b/t/a b.parquet is not a Parquet file.
"""
OLDER = "s3a://b/t/a b.parquet is not a Parquet file. Expected magic number at tail, but found [0]"


def test_executors_without_the_package() -> None:
    """A stack trace of sixty lines becomes one line that suggests a fix."""
    error = explained(RuntimeError(TRACE))

    assert isinstance(error, SetupError)
    assert error.kind is ErrorKind.DEPENDENCY_MISSING
    assert error.message == "The Python of the executors does not have the package lakesieve."
    assert "PYSPARK_PYTHON" in error.hint


def test_a_file_that_cannot_be_read() -> None:
    """The error names the file and the last cause."""
    error = explained(RuntimeError(CORRUPT))

    assert isinstance(error, StorageError)
    assert error.message == (
        "The data file s3a://b/t/a%20b.parquet cannot be read: RuntimeException: "
        "s3a://b/t/a b.parquet is not a Parquet file."
    )


def test_a_file_that_an_older_spark_cannot_read() -> None:
    """The error names the file even if only the cause has its name."""
    error = explained(RuntimeError("Caused by: java.lang.RuntimeException: " + OLDER))

    assert isinstance(error, StorageError)
    assert error.message.startswith("The data file s3a://b/t/a b.parquet cannot be read: ")


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("something else"),
        RuntimeError("No module named 'users_own'"),
        NotFoundError("FAILED_READ_FILE", kind=ErrorKind.TABLE_NOT_FOUND, hint=""),
    ],
)
def test_other_errors_stay_as_they_are(error: Exception) -> None:
    """Unknown errors, and errors that are already clear, stay unchanged."""
    assert explained(error) is None
