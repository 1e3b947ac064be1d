"""Let Java call Python functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession


class Callback:
    """A ``java.util.function.Function`` that is implemented in Python.

    py4j keeps only a weak reference. Keep another reference as long as Java may call it.
    """

    def __init__(self, answer: Callable[[str], str]) -> None:
        self._answer = answer

    def apply(self, request: str) -> str:
        """Answer a call from Java."""
        return self._answer(request)

    class Java:
        """The implemented Java interface, in the form that py4j expects."""

        implements = ("java.util.function.Function",)


class SessionCallback:
    """A ``java.util.function.BiFunction`` of a session of Java and a text, as ``Callback``."""

    def __init__(self, answer: Callable[[Any, str], str]) -> None:
        self._answer = answer

    def apply(self, session: Any, request: str) -> str:
        """Answer a call from Java."""
        return self._answer(session, request)

    class Java:
        """The implemented Java interface, in the form that py4j expects."""

        implements = ("java.util.function.BiFunction",)


def hear_callbacks(spark: SparkSession) -> None:
    """Start the server through which Java calls this process."""
    from pyspark.java_gateway import ensure_callback_server_started

    gateway = spark.sparkContext._gateway
    ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]


def key_of_session(spark: SparkSession) -> tuple[str, str]:
    """Return a key that identifies a session: its application and its own number."""
    return str(spark.sparkContext.applicationId), str(spark._jsparkSession.sessionUUID())
