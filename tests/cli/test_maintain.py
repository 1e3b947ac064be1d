"""The command that keeps declared indexes up: plans, rounds, metrics."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import time
import urllib.request
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.ports import free_port

from lakesieve.index.maintenance import MaintenanceStep, TableMaintenance
from lakesieve.report.maintenance_metrics import MaintenanceMetrics
from lakesieve.report.maintenance_text import maintenance_lines

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Run, Session

STEPS = (
    MaintenanceStep(action="drift", index="id", detail="budget is none, declared is 2 bits"),
    MaintenanceStep(action="create", index="day", detail="on day"),
    MaintenanceStep(action="refresh", index="id", detail="7 data files"),
    MaintenanceStep(action="vacuum", index="id", detail="3 objects, 500 bytes"),
)
DUE = TableMaintenance(
    table="lake.db.t",
    steps=STEPS,
    lag_files=7,
    lag_seconds=90.0,
    files=400,
    bytes=12_345,
    seconds=1.5,
    dry_run=True,
)
DONE = replace(
    DUE,
    dry_run=False,
    steps=(
        replace(STEPS[1], done=True, seconds=2),
        replace(STEPS[2], error="the disk is full"),
    ),
)


@pytest.fixture
def file(tmp_path: Path) -> str:
    """A file that declares one table."""
    (tmp_path / "x.toml").write_text('[tables."lake.db.t"]\nindexes = [["id"], ["day"]]\n')
    return str(tmp_path / "x.toml")


def maintained(tables: Any, *, observe: Any, dry_run: bool = False, **_: Any) -> Any:
    """Do a round, telling each step that is done or fails."""
    done = DUE if dry_run else DONE
    for step in done.steps:
        if step.done or step.error:
            observe(done.table, step)
    return [done]


def test_a_plan_is_shown_and_nothing_done(lakesieve: Run, file: str, session: Session) -> None:
    """What is missing, what lags, what differs from the file, one a line; also as JSON."""
    session.answers("maintain", maintained)
    done = lakesieve("maintain", file, "--dry-run")

    assert done.exit_code == 0, done.stderr
    assert [one.name for one in session.given("maintain")["tables"]] == ["lake.db.t"]
    assert done.stdout.splitlines() == [
        "lake.db.t: 400 data files, 7 files not indexed, 12.3 kB",
        "  ! drift id: budget is none, declared is 2 bits",
        "  + create day: on day",
        "  ~ refresh id: 7 data files",
        "  - vacuum id: 3 objects, 500 bytes",
        "Due: 3 steps. Nothing was done.",
    ]
    document = json.loads(lakesieve("maintain", file, "--dry-run", "--json").stdout)
    assert [step["action"] for step in document[0]["steps"]] == [s.action for s in STEPS]


def test_names_imply_their_formats(lakesieve: Run, tmp_path: Path, session: Session) -> None:
    """The session is set up for the formats of all tables of the file."""
    names = ("lake.db.t", "delta:/data/a", "parquet:/data/b", "delta:/data/c")
    declared = "".join(f'[tables."{name}"]\nindexes = [["id"]]\n' for name in names)
    (tmp_path / "x.toml").write_text(declared)
    session.answers("maintain", maintained)

    lakesieve("maintain", str(tmp_path / "x.toml"), "--dry-run")

    assert len(session.given("maintain")["tables"]) == 4
    assert session.given("local_session")["formats"] == ("iceberg", "delta", "parquet")


def test_a_failed_step_is_status_1(lakesieve: Run, file: str, session: Session) -> None:
    """The others are done, each is said when it is, and the status tells a timer."""
    session.answers("maintain", maintained)
    done = lakesieve("maintain", file)

    assert done.exit_code == 1
    assert "  ! refresh id: 7 data files failed: the disk is full" in done.stdout.splitlines()
    assert done.stdout.splitlines()[-1] == "Done: 1 step; 1 failed."
    assert "lake.db.t, index day: create: on day" in done.stderr
    assert "lake.db.t, index id: refresh failed: the disk is full" in done.stderr
    assert session.given("maintain") is not None


def test_a_table_that_cannot_be_looked_at_has_failed() -> None:
    """The last line counts what makes the status 1."""
    gone = replace(DONE, steps=(), error="the table is gone")
    assert not gone.holds
    assert maintenance_lines([gone])[-1] == "Done: 0 steps; 1 failed."
    planned = maintenance_lines([replace(gone, dry_run=True)])
    assert planned[-1] == "Due: 0 steps. Nothing was done. 1 failed."


def test_rounds_end_after_the_work_in_hand(lakesieve: Run, file: str, session: Session) -> None:
    """SIGTERM in the second round: what it has in hand is done, and then it stops."""
    ended: list[bool] = []

    def maintain(*_: Any, going_on: Callable[[], bool], **__: Any) -> list[TableMaintenance]:
        if len(ended) == 1:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.01)
        ended.append(going_on())
        return [DONE]

    session.answers("maintain", maintain)
    done = lakesieve("maintain", file, "--watch", "0.01s")

    assert done.exit_code == 0, done.stderr
    assert ended == [True, False]
    assert done.stderr.splitlines()[-1] == "Stopped."


def test_metrics_of_rounds() -> None:
    """Prometheus reads lag, bytes, durations and errors by table, on this machine alone."""
    port = free_port()
    metrics = MaintenanceMetrics()
    metrics.serve(port)
    metrics.observe(DONE)
    metrics.observe(replace(DONE, error="the catalog is away", steps=(), lag_files=0))

    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        lines = answer.read().decode().splitlines()

    assert 'lakesieve_lag_files{table="lake.db.t"} 7.0' in lines
    assert 'lakesieve_lag_seconds{table="lake.db.t"} 90.0' in lines
    assert 'lakesieve_index_bytes{table="lake.db.t"} 12345.0' in lines
    assert 'lakesieve_failed_rounds_total{table="lake.db.t"} 2.0' in lines
    steps = 'lakesieve_steps_total{action="create",outcome="done",table="lake.db.t"} 1.0'
    assert steps in lines
    assert threading.active_count() > 1
    # another address of this machine, as other machines would call at
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", port), timeout=5)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--dry-run", "--watch", "5m"), "A dry run cannot be repeated"),
        (("--metrics-port", "9000"), "Metrics are served only with --watch"),
        (("--watch", "soon"), "is not an interval"),
    ],
)
def test_options_that_do_not_go_together(
    lakesieve: Run, file: str, options: tuple[str, ...], words: str
) -> None:
    """One line with what to give, and status 1."""
    done = lakesieve("maintain", file, *options)

    assert done.exit_code == 1
    assert words in done.stderr


def test_a_file_that_is_not_there(lakesieve: Run) -> None:
    """By default it is lakesieve.toml."""
    done = lakesieve("maintain")

    assert done.exit_code == 1
    assert "lakesieve.toml cannot be read" in done.stderr
