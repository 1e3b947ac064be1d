"""The commands on equality deletes."""

from __future__ import annotations

import json
import os
import signal
from typing import TYPE_CHECKING, Any

import pytest
from tests.cli.conftest import FakeDeletes

from lakesieve.errors import CommitConflictError, ErrorKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import FakeApi
    from typer.testing import Result

    from lakesieve.spark.deletes.result import Conversion


def test_status(api: FakeApi, lakesieve: Callable[..., Result]) -> None:
    """Status shows the verdict, the records, the pairs and the memory; the version is passed on."""
    done = lakesieve("deletes", "status", "lake.db.t", "--version", "77", "--no-keys")

    assert done.exit_code == 0
    assert api.arguments("status") == {"table": "lake.db.t", "version": "77", "count_keys": False}
    for text in ("copes", "2,000,000 records in 40 files", "780 pairs", "257.4 MB a task"):
        assert text in done.stdout


def test_convert(api: FakeApi, lakesieve: Callable[..., Result]) -> None:
    """Convert passes its options on, tells its progress on stderr and its work on stdout."""
    done = lakesieve("deletes", "convert", "lake.db.t", "--partial-progress", "--branch", "b")

    assert done.exit_code == 0
    assert api.arguments("convert") == {
        "table": "lake.db.t",
        "branch": "b",
        "location": None,
        "dry_run": False,
        "partial_progress": True,
    }
    assert "1,113,510 rows in 39 data files, by position deletes" in done.stdout
    assert "write 1 of 2: 5 rows marked" in done.stderr


def test_json(lakesieve: Callable[..., Result]) -> None:
    """Both commands write their results as JSON."""
    status = json.loads(lakesieve("deletes", "status", "lake.db.t", "--json").stdout)
    done = json.loads(lakesieve("deletes", "convert", "lake.db.t", "--dry-run", "--json").stdout)

    assert (status["pairs"], status["field_sets"][0]["columns"]) == (780, ["id"])
    assert done["positions"] == 1_113_510


def test_watch(
    api: FakeApi, lakesieve: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Watching refreshes and converts until SIGTERM, after the round under way, with status 0."""
    handler = signal.getsignal(signal.SIGTERM)
    real = FakeDeletes.convert

    def convert(self: FakeDeletes, table: str, **rest: Any) -> Conversion:
        names = [name for name, _ in api.calls]
        if names.count("convert") == 0:
            api.calls.append(("convert", {}))
            raise CommitConflictError("Others were faster.", kind=ErrorKind.CONFLICT)
        os.kill(os.getpid(), signal.SIGTERM)
        return real(self, table, **rest)

    monkeypatch.setattr(FakeDeletes, "convert", convert)
    done = lakesieve("deletes", "convert", "lake.db.t", "--watch", "0.01s", "--json")

    assert done.exit_code == 0, done.stderr
    assert [name for name, _ in api.calls if name in {"refresh", "convert"}] == [
        *("refresh", "convert", "refresh", "convert")
    ]
    assert "Others were faster." in done.stderr
    assert json.loads(done.stdout)["positions"] == 1_113_510
    assert signal.getsignal(signal.SIGTERM) == handler


@pytest.mark.parametrize("given", ["0s", "5 minutes", "-1"], ids=["zero", "words", "negative"])
def test_no_interval(api: FakeApi, lakesieve: Callable[..., Result], given: str) -> None:
    """What is no interval is refused before Spark starts."""
    done = lakesieve("deletes", "convert", "lake.db.t", "--watch", given)

    assert (done.exit_code, api.calls) == (1, [])
