"""Python functions that Java calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession


class Callback:
    """A ``java.util.function.Function`` that answers in Python.

    py4j keeps only a weak reference: keep another one as long as Java may call.
    """

    def __init__(self, answer: Callable[[str], str]) -> None:
        self._answer = answer

    def apply(self, request: str) -> str:
        """Answer a call of Java."""
        return self._answer(request)

    class Java:
        """The Java interface, as py4j wants it told."""

        implements = ("java.util.function.Function",)


def hear_callbacks(spark: SparkSession) -> None:
    """Let Java call functions of this process."""
    from pyspark.java_gateway import ensure_callback_server_started

    gateway = spark.sparkContext._gateway
    ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]


def key_of_session(spark: SparkSession) -> tuple[str, str]:
    """Return what tells a session from all others: its application, and its own number."""
    return str(spark.sparkContext.applicationId), str(spark._jsparkSession.sessionUUID())
