"""The commands on equality deletes."""

from __future__ import annotations

import json
import os
import signal
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from tests.cli.test_sessions import REFRESHED

from lakesieve.errors import CommitConflictError, ErrorKind
from lakesieve.spark.deletes.result import Conversion, ConversionProgress, DeleteStatus, FieldSet

if TYPE_CHECKING:
    from tests.cli.conftest import Run, Session

STATUS = DeleteStatus(
    table="lake.db.t",
    version="77",
    format_version=2,
    data_files=40,
    reached_files=39,
    equality_files=40,
    equality_records=2_000_000,
    equality_bytes=13_567_634,
    dangling_files=1,
    keys=864_840,
    pairs=780,
    position_files=3,
    vectors=0,
    task_records=1_950_000,
    task_bytes=257_400_000,
    executor_tasks=2,
    executor_bytes=1_073_741_824,
    field_sets=(
        FieldSet(columns=("id",), everywhere=True, files=40, records=2_000_000, keys=864_840),
    ),
    verdict="Iceberg's own reader copes.",
)
CONVERSION = Conversion(
    table="lake.db.t",
    branch=None,
    dry_run=False,
    format_version=2,
    removed_files=40,
    removed_records=2_000_000,
    scanned_files=39,
    scanned_rows=1_950_000,
    positions=1_113_510,
    marked_files=39,
    written_files=39,
    written_bytes=3_259_168,
    commits=1,
    conflicts=0,
    seconds=33.4,
)


def converted(*_: Any, progress: Any, **__: Any) -> Conversion:
    """Convert after one report of progress."""
    progress(ConversionProgress(phase="write", units_done=0, units_total=2, positions=5, seconds=1))
    return CONVERSION


def test_status(lakesieve: Run, session: Session) -> None:
    """Status shows the verdict, the records, the pairs and the memory; the version is passed on."""
    session.answers("deletes.status", STATUS)
    done = lakesieve("deletes", "status", "lake.db.t", "--version", "77", "--no-keys")

    assert done.exit_code == 0
    given = session.given("deletes.status")
    assert given == {"table": "lake.db.t", "version": "77", "count_keys": False}
    for text in ("copes", "2,000,000 records in 40 files", "780 pairs", "257.4 MB a task"):
        assert text in done.stdout


def test_convert(lakesieve: Run, session: Session) -> None:
    """Convert passes its options on, tells its progress on stderr and its work on stdout."""
    session.answers("deletes.convert", converted)
    done = lakesieve("deletes", "convert", "lake.db.t", "--partial-progress", "--branch", "b")

    assert done.exit_code == 0
    given = session.given("deletes.convert")
    assert {name: value for name, value in given.items() if name != "progress"} == {
        "table": "lake.db.t",
        "branch": "b",
        "location": None,
        "dry_run": False,
        "partial_progress": True,
    }
    assert "1,113,510 rows in 39 data files, by position deletes" in done.stdout
    assert "write 1 of 2: 5 rows marked" in done.stderr


def test_json(lakesieve: Run, session: Session) -> None:
    """Both commands write their results as JSON."""
    session.answers("deletes.status", STATUS)
    session.answers("deletes.convert", converted)
    status = json.loads(lakesieve("deletes", "status", "lake.db.t", "--json").stdout)
    done = json.loads(lakesieve("deletes", "convert", "lake.db.t", "--dry-run", "--json").stdout)

    assert (status["pairs"], status["field_sets"][0]["columns"]) == (780, ["id"])
    assert done["positions"] == 1_113_510


def test_watch(lakesieve: Run, session: Session) -> None:
    """Watching refreshes and converts until SIGTERM, after the round under way, with status 0."""
    handler = signal.getsignal(signal.SIGTERM)

    def convert(*_: Any, **given: Any) -> Conversion:
        if [name for name, _ in session.calls].count("deletes.convert") == 1:
            raise CommitConflictError("Others were faster.", kind=ErrorKind.CONFLICT)
        os.kill(os.getpid(), signal.SIGTERM)
        return converted(**given)

    session.answers("list_indexes", [SimpleNamespace(name="id")])
    session.answers("open_index", SimpleNamespace(refresh=lambda: REFRESHED))
    session.answers("deletes.convert", convert)
    done = lakesieve("deletes", "convert", "lake.db.t", "--watch", "0.01s", "--json")

    assert done.exit_code == 0, done.stderr
    round_ = ["list_indexes", "open_index", "deletes.convert"]
    assert [name for name, _ in session.calls[1:]] == [*round_, *round_]
    assert "Others were faster." in done.stderr
    assert json.loads(done.stdout)["positions"] == 1_113_510
    assert signal.getsignal(signal.SIGTERM) == handler


@pytest.mark.parametrize("given", ["0s", "5 minutes", "-1"], ids=["zero", "words", "negative"])
def test_no_interval(lakesieve: Run, session: Session, given: str) -> None:
    """What is no interval is refused before Spark starts."""
    done = lakesieve("deletes", "convert", "lake.db.t", "--watch", given)

    assert (done.exit_code, session.calls) == (1, [])
