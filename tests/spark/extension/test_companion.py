"""The process that answers sessions without Python: whatever becomes of it, a query goes on."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from importlib import metadata
from typing import TYPE_CHECKING, Any

import pytest
from py4j.protocol import Py4JJavaError

from lakesieve.spark.extension.jar import jar_sources
from lakesieve.spark.tables.registry import formats_of
from lakesieve.spark.versions.janino import JavaSources
from lakesieve.spark.versions.java_classes import java_list
from lakesieve.spark.versions.spark_versions import spark_version_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

VERSION = metadata.version("lakesieve")
MARK, OPEN, PLAN = 0x4C4B5356, 1, 2
SETTINGS = '{"locations": "", "trusted": "", "hadoop": {}}'
REQUEST = '{"seconds": 2, "memory": 1000000, "catalogues": [], "scans": []}'


@pytest.fixture(scope="module")
def sources(spark: SparkSession) -> JavaSources:
    """The classes of the jar."""
    return JavaSources(*jar_sources(formats_of(spark_version_of(spark.version))))


@pytest.fixture
def process(spark: SparkSession, sources: JavaSources) -> Iterator[Callable[[str, str], Any]]:
    """Starts a process of an interpreter."""
    started = []

    def start(python: str, version: str = VERSION) -> Any:
        started.append(sources.new(spark, "lakesieve.CompanionProcess", python, version))
        return started[-1]

    yield start
    for one in started:
        one.end("the test is over")


def _script(folder: Path, lines: str) -> str:
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{lines}\n")
    path.chmod(0o755)
    return str(path)


def _refusal(process: Any, request: str = "session\n{}", *, millis: int = 30_000) -> str:
    with pytest.raises(Py4JJavaError) as raised:
        process.ask(request, millis)
    failure: Any = raised.value.java_exception
    return str(failure.getMessage())


def test_answers(process: Callable[..., Any]) -> None:
    """A session that is open is answered; one that is not has no answer, and harms no other."""
    running = process(sys.executable)
    running.send(OPEN, f"session\n{SETTINGS}")
    assert '"scans": []' in running.ask(f"session\n{REQUEST}", 30_000)
    assert "not known" in _refusal(running, f"other\n{REQUEST}")
    assert "JSONDecodeError" in _refusal(running, "session\nno JSON")
    assert '"scans": []' in running.ask(f"session\n{REQUEST}", 30_000)
    assert running.ended() is None


def test_what_is_no_answer(process: Callable[..., Any], tmp_path: Path) -> None:
    """Garbage ends the process."""
    running = process(_script(tmp_path, "echo this is no answer at all, but long enough; sleep 60"))
    assert "what it wrote is no answer" in _refusal(running)
    assert running.ended() is not None


def test_silence(process: Callable[..., Any], tmp_path: Path) -> None:
    """Nobody waits longer than is given."""
    running = process(_script(tmp_path, "sleep 60"))
    assert "no answer in 0.3 s" in _refusal(running, millis=300)


def test_an_end(process: Callable[..., Any], tmp_path: Path) -> None:
    """The last line that it wrote says why."""
    running = process(_script(tmp_path, "echo 'No module named lakesieve' >&2; exit 3"))
    assert "it ended: 3, No module named lakesieve" in _refusal(running)


def test_another_version(process: Callable[..., Any]) -> None:
    """The jar and the package are of one version."""
    assert f"the jar is of lakesieve 0, this one is {VERSION}" in _refusal(
        process(sys.executable, "0")
    )


def test_no_such_python(spark: SparkSession, sources: JavaSources) -> None:
    """The first two times it is tried at once, then not before some time has passed."""
    companion = sources.type(spark, "lakesieve.Companion")
    (method,) = (m for m in companion.getMethods() if m.getName() == "process")
    refusals = []
    for _ in range(3):
        with pytest.raises(Py4JJavaError) as raised:
            method.invoke(None, java_list(spark, ("/nowhere/python", "0")).toArray())
        failure: Any = raised.value.java_exception
        refusals.append(str(failure.getCause().getMessage()))
    assert all("/nowhere/python" in refusal for refusal in refusals)
    assert ["tried again in" in refusal for refusal in refusals] == [False, False, True]


def _run(written: bytes, *, version: str = VERSION) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "lakesieve.spark.companion", version]
    return subprocess.run(command, input=written, capture_output=True, check=False, timeout=60)


def _frame(kind: int, text: str, number: int = 7) -> bytes:
    return struct.pack(">IIqB", MARK, len(text), number, kind) + text.encode()


def test_what_is_no_request() -> None:
    """A driver that does not speak the protocol is refused; one that ends, ends it."""
    assert b"no request of a driver" in _run(b"x" * 100).stderr
    ended = _run(_frame(OPEN, f"s\n{SETTINGS}") + _frame(PLAN, "s\n{}")[:20])
    assert (ended.returncode, ended.stdout) == (0, b"")


def test_it_needs_no_pyspark() -> None:
    """It works where only the jar's Spark is."""
    program = "import lakesieve.spark.companion, sys; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


BAD_SETTINGS = (
    '{"locations": "", "trusted": "junk", "hadoop": {}}',
    '{"locations": ""}',
    "no JSON",
)


@pytest.mark.parametrize("settings", BAD_SETTINGS)
def test_a_bad_setting_concerns_its_session_alone(settings: str) -> None:
    """Its queries are told the reason and read all files; those of other sessions go on."""
    scan = '{"id": 3, "location": "/nowhere", "uuid": "u", "format": "iceberg", "filter": []}'
    request = REQUEST.replace('"scans": []', f'"scans": [{scan}]')
    frames = [
        _frame(OPEN, f"good\n{SETTINGS}"),
        _frame(OPEN, f"bad\n{settings}"),
        _frame(PLAN, f"bad\n{request}", 1),
        _frame(PLAN, f"good\n{REQUEST}", 2),
        _frame(OPEN, f"bad\n{SETTINGS}"),
        _frame(PLAN, f"bad\n{REQUEST}", 3),
    ]
    command = [sys.executable, "-m", "lakesieve.spark.companion", VERSION]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        running.stdin.write(b"".join(frames))
        running.stdin.flush()
        answers = {}
        for _ in range(3):
            head = running.stdout.read(struct.calcsize(">IIqB"))
            assert head, "the process ended"
            _, length, number, kind = struct.unpack(">IIqB", head)
            answers[number] = (kind, json.loads(running.stdout.read(length)))
        running.stdin.close()

    assert [kind for kind, _ in answers.values()] == [0, 0, 0]
    (told,) = answers[1][1]["scans"]
    assert (told["id"], told["indexes"]) == (3, [])
    assert [reason["code"] for reason in told["reasons"]] == ["invalid-setting"]
    assert told["reasons"][0]["detail"]
    assert answers[2][1]["scans"] == answers[3][1]["scans"] == []
