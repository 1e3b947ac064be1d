"""The process that answers engines without Python, over its pipes."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from importlib import metadata
from typing import TYPE_CHECKING, Any

import pytest
from tests.index.test_waiting import local_index
from tests.planner.engine import codes, frame, request, single
from tests.planner.scans import scan_at

if TYPE_CHECKING:
    from pathlib import Path

VERSION = metadata.version("lakesieve")
OPEN, PLAN = 1, 2
SETTINGS = '{"locations": "", "trusted": "", "hadoop": {}}'
BAD_SETTINGS = (
    '{"locations": "", "trusted": "junk", "hadoop": {}}',
    '{"locations": ""}',
    "no JSON",
)


def _run(written: bytes, *, version: str = VERSION) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "lakesieve.planner.companion", version]
    return subprocess.run(command, input=written, capture_output=True, check=False, timeout=60)


def _answers(count: int, *frames: bytes) -> dict[int, tuple[int, Any]]:
    """The kinds and texts of answers by the numbers of their requests."""
    command = [sys.executable, "-m", "lakesieve.planner.companion", VERSION]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        running.stdin.write(b"".join(frames))
        running.stdin.flush()
        found = [single(running.stdout.read) for _ in range(count)]
        running.stdin.close()
    return {number: (kind, text) for number, kind, text in found}


def test_what_is_no_request() -> None:
    """An engine that does not speak the protocol is refused; one that ends, ends the process."""
    assert b"not a request of a driver" in _run(b"x" * 100).stderr
    ended = _run(frame(OPEN, f"s\n{SETTINGS}") + frame(PLAN, "s\n{}")[:20])
    assert (ended.returncode, ended.stdout) == (0, b"")


def test_another_version_of_the_package() -> None:
    """The jar and the package are of one version."""
    assert (
        f"the jar is of lakesieve 0, this one is {VERSION}"
        in _run(b"", version="0").stderr.decode()
    )


def test_it_needs_no_pyspark() -> None:
    """It works where only the jar's Spark is."""
    program = "import lakesieve.planner.companion, sys; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_sessions_and_requests(tmp_path: Path) -> None:
    """An open session is answered or refused by the planner; an unknown one has no answer."""
    text = request(scan_at(local_index(tmp_path)))
    answers = _answers(
        4,
        frame(OPEN, f"s\n{SETTINGS}"),
        frame(PLAN, f"s\n{text}", 1),
        frame(PLAN, f"other\n{text}", 2),
        frame(PLAN, "s\nno JSON", 3),
        frame(PLAN, 's\n{"version": 2}', 4),
    )

    assert [answers[number][0] for number in (1, 2, 3, 4)] == [0, 1, 0, 0]
    assert codes(json.loads(answers[1][1])) == [["index-used"]]
    assert "not known" in answers[2][1]
    for number in (3, 4):
        assert json.loads(answers[number][1])["refusal"]["code"] == "protocol-mismatch"


@pytest.mark.parametrize("settings", BAD_SETTINGS)
def test_a_bad_setting_concerns_its_session_alone(settings: str) -> None:
    """Its queries are told the reason and read all files; those of other sessions go on."""
    answers = _answers(
        3,
        frame(OPEN, f"good\n{SETTINGS}"),
        frame(OPEN, f"bad\n{settings}"),
        frame(PLAN, f"bad\n{request(scan_at('/nowhere'))}", 1),
        frame(PLAN, f"good\n{request()}", 2),
        frame(OPEN, f"bad\n{SETTINGS}"),
        frame(PLAN, f"bad\n{request()}", 3),
    )

    assert [kind for kind, _ in answers.values()] == [0, 0, 0]
    refusal = json.loads(answers[1][1])["refusal"]
    assert refusal["code"] == "invalid-setting"
    assert refusal["detail"]
    assert json.loads(answers[2][1])["scans"] == json.loads(answers[3][1])["scans"] == []


def test_frames_are_read_to_their_end() -> None:
    """The frames of these tests are those of the specification, byte for byte."""
    written = frame(PLAN, "s\nä", 258)
    assert written == b"LKSV" + bytes([0, 0, 0, 4]) + bytes([0] * 6 + [1, 2, 2]) + "s\nä".encode()
    assert single(io.BytesIO(written).read) == (258, PLAN, "s\nä")
