"""Python functions that Java calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession


class Callback:
    """A ``java.util.function.Function`` that answers in Python.

    py4j keeps only a weak hold on it: whoever gives it to Java keeps it, too.
    """

    def __init__(self, answer: Callable[[str], str]) -> None:
        self._answer = answer

    def apply(self, request: str) -> str:
        """Answer."""
        return self._answer(request)

    class Java:
        """What py4j makes of it."""

        implements = ("java.util.function.Function",)


def hear_callbacks(spark: SparkSession) -> None:
    """Have this process hear what Java calls."""
    from pyspark.java_gateway import ensure_callback_server_started

    gateway = spark.sparkContext._gateway
    ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]


def key_of_session(spark: SparkSession) -> tuple[str, str]:
    """What tells a session from all others: its application, and its own number."""
    return str(spark.sparkContext.applicationId), str(spark._jsparkSession.sessionUUID())
