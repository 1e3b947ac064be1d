"""The commands on equality deletes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import FakeApi
    from typer.testing import Result


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
