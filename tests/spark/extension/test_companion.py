"""The process that answers sessions without Python: if it fails, queries still run."""

from __future__ import annotations

import json
import sys
from importlib import metadata
from typing import TYPE_CHECKING, Any

import pytest
from py4j.protocol import Py4JJavaError

from lakesieve.planner import PROTOCOL
from lakesieve.spark.versions.jar import own_class

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

VERSION = metadata.version("lakesieve")
OPEN = 1
SETTINGS = '{"locations": "", "trusted": "", "hadoop": {}}'
REQUEST = json.dumps(
    {"version": PROTOCOL, "seconds": 2, "memory": 1_000_000, "catalogues": [], "scans": []}
)


@pytest.fixture
def process(spark: SparkSession) -> Iterator[Callable[[str, str], Any]]:
    """Starts a process of an interpreter."""
    started = []

    def start(python: str, version: str = VERSION) -> Any:
        started.append(own_class(spark, "extension.CompanionProcess")(python, version))
        return started[-1]

    yield start
    for one in started:
        one.end("the test is over")


def _refusal(process: Any, request: str = "session\n{}") -> str:
    with pytest.raises(Py4JJavaError) as raised:
        process.ask(request, 30_000)
    failure: Any = raised.value.java_exception
    return str(failure.getMessage())


def test_answers(process: Callable[..., Any]) -> None:
    """An open session gets answers; an unknown session gets none, and disturbs no other."""
    running = process(sys.executable)
    running.send(OPEN, f"session\n{SETTINGS}")
    assert '"scans": []' in running.ask(f"session\n{REQUEST}", 30_000)
    assert "not known" in _refusal(running, f"other\n{REQUEST}")
    refused = json.loads(running.ask("session\nno JSON", 30_000))
    assert refused["refusal"]["code"] == "protocol-mismatch"
    assert '"scans": []' in running.ask(f"session\n{REQUEST}", 30_000)
    assert running.ended() is None


def test_another_version(process: Callable[..., Any]) -> None:
    """The jar and the package must have the same version."""
    assert f"the jar is of lakesieve 0, this one is {VERSION}" in _refusal(
        process(sys.executable, "0")
    )
