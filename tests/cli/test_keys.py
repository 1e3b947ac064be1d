"""The commands about keys: what they call, how they tell it, and their status."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.engines.tables import index_of
from typer.testing import CliRunner

from lakesieve.cli import build_app
from lakesieve.tables.opening import open_table

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import FakeApi
    from typer.testing import Result

TABLE = "lake.db.t"


def test_a_violation_is_status_1(lakesieve: Callable[..., Result], api: FakeApi) -> None:
    """The keys are shown, as text and as JSON, and the status tells a script."""
    done = lakesieve("check-unique", TABLE, "--on", "id", "--on", "day", "--limit", "2")

    assert done.exit_code == 1
    text = " ".join(done.stdout.split())
    assert "unique id, day: no in several rows 30 keys" in text
    assert "searched 3 of 400 data files, by the index id_day" in text
    assert "these are 5, 2026-01-01 7, 2026-01-02 ... and 28 more" in text
    given = api.arguments("check_unique")
    assert (given["table"], given["on"], given["limit"]) == (TABLE, ["id", "day"], 2)
    document = json.loads(lakesieve("check-unique", TABLE, "--on", "id", "--json").stdout)
    assert (document["violations"], document["examples"][0]) == (30, ["5", "2026-01-01"])


def test_no_violation_is_status_0(lakesieve: Callable[..., Result], api: FakeApi) -> None:
    """Nothing is listed."""
    api.check = replace(api.check, violations=0, examples=(), index=None, files_read=None)

    done = lakesieve("check-unique", TABLE, "--on", "id")

    assert done.exit_code == 0
    assert "unique id, day: yes" in " ".join(done.stdout.split())


def test_references_name_both_tables(lakesieve: Callable[..., Result], api: FakeApi) -> None:
    """Columns of the parent are called like those of the child, if nothing else is said."""
    done = lakesieve("check-references", TABLE, "--on", "id", "--parent", "lake.db.p")

    assert done.exit_code == 1
    assert "refers to id, day to lake.db.p (id): no" in " ".join(done.stdout.split())
    given = api.arguments("check_references")
    assert (given["on"], given["parent_on"]) == (["id"], ["id"])
    api.calls.clear()
    lakesieve(
        *("check-references", TABLE, "--on", "a", "--on", "b", "--parent", "p"),
        *("--parent-on", "c", "--parent-on", "d"),
    )
    assert api.arguments("check_references")["parent_on"] == ["c", "d"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two files of a directory with an index."""
    for at in range(2):
        pq.write_table(pa.table({"id": list(range(at, 20, 2))}), tmp_path / f"{at}.parquet")
    index_of(open_table(f"parquet:{tmp_path}"), "id", covers=lambda _: True)
    return tmp_path


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_keys_of_a_file_are_looked_up(folder: Path, tmp_path: Path, form: str) -> None:
    """Without Spark; other columns of the file do not matter."""
    file = tmp_path.parent / f"{tmp_path.name}.{form}"
    if form == "csv":
        file.write_text("name,ID\nx,5\ny,100\nz,6\n,\n")
    else:
        pq.write_table(pa.table({"name": ["x"] * 4, "ID": [5, 100, 6, None]}), file)
    run = ["contains", f"parquet:{folder}", "id", "--keys", str(file)]

    done = CliRunner().invoke(build_app(), run)
    document = json.loads(CliRunner().invoke(build_app(), [*run, "--confirm", "--json"]).stdout)

    assert done.exit_code == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert "given 4 keys absent 2 possible 2 in 2 of 2 data files absent are 100 None" in text
    assert (document["absent"], document["confirmed"]) == (2, True)


def test_a_file_that_is_not_there_is_named(folder: Path) -> None:
    """One line with what to give, and status 1."""
    run = ["contains", f"parquet:{folder}", "id", "--keys", "nowhere.csv"]

    done = CliRunner().invoke(build_app(), run)

    assert done.exit_code == 1
    assert "nowhere.csv cannot be read" in done.stderr
