"""The planner answers in the time that a request gives it, whatever its storage does."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

from tests.index.test_waiting import local_index
from tests.planner.engine import codes, request
from tests.planner.gate import Gate
from tests.planner.scans import scan_at

from lakesieve.planner import Planner

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_one_deadline_for_all_scans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three scans that hang cost the time of one; few threads are left; then all is as ever."""
    gate, planner, scan = Gate(monkeypatch), Planner(), scan_at(local_index(tmp_path))
    three = [scan, scan, scan]

    for _ in range(3):
        started = time.monotonic()
        late = json.loads(planner.answer(request(*three, seconds=1)))
        assert time.monotonic() - started < 2.5
        assert codes(late) == [["planning-timeout"]] * 3
        assert all(answer["late"] for answer in late["scans"])
    assert gate.calls <= 6
    gate.event.set()
    deadline = time.monotonic() + 20
    # those that nobody waits for end first
    while codes(json.loads(planner.answer(request(*three)))) != [["index-used"]] * 3:
        assert time.monotonic() < deadline
    assert codes(json.loads(planner.answer(request(scan, seconds=0)))) == [["planning-timeout"]]
