"""The command line for real: one process, one Spark, the demo at a small scale."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pytest
from tests.depth import is_soak

pytestmark = pytest.mark.spark

TABLE = "lake.tpch.lineitem"
# Every command starts its own session; in one process they share the first one.
DRIVER = """
import json, sys
from typer.testing import CliRunner
from lakesieve.cli import build_app

done = [CliRunner().invoke(build_app(), arguments) for arguments in json.load(sys.stdin)]
print("RESULTS" + json.dumps([[d.exit_code, d.stdout, d.stderr] for d in done]))
"""


@dataclass(frozen=True)
class Done:
    status: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        return json.loads(self.stdout)

    @property
    def error(self) -> str:
        last = self.stderr.splitlines()[-1]
        assert last.startswith("error: "), self.stderr
        return last


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def done(folder: Path) -> dict[str, Done]:
    """Run all commands one after the other; what each wrote, by the name given here."""
    on_table = ["--warehouse", str(folder / "warehouse")]
    demo = ["demo", "--scale", "0.01", "--dir", str(folder)]
    # the first key of the second block of order keys; in TPC-H always there
    point = [TABLE, "l_orderkey = 33"]
    commands = {
        "demo": [*demo, "--json"],
        **({"demo again": demo} if is_soak() else {}),
        "list": ["list", TABLE, "--json"],
        "show": ["show", TABLE, "l_orderkey"],
        "files": ["files", *point],
        "files json": ["files", *point, "--json"],
        "explain": ["explain", *point],
        "history": ["history", TABLE, "l_orderkey", "--json"],
        "create": ["create", TABLE, "l_shipdate", "--name", "ship", "--json"],
        "by date": ["files", TABLE, "l_shipdate = '1992-01-10'", "--json"],
        "no version": ["files", *point, "--version", "nonsense"],
        "exists": ["create", TABLE, "l_orderkey"],
        "no column": ["create", TABLE, "l_nonsense"],
        "no column in predicate": ["files", TABLE, "l_nonsense = 5"],
        "no table": ["list", "lake.tpch.nonsense"],
        "no catalog": ["list", "nonsense.tpch.lineitem"],
        "not a table": ["list", f"iceberg:{folder}"],
        "no predicate": ["files", TABLE, "l_orderkey = = 5"],
        "dry drop": ["drop", TABLE, "ship", "--dry-run"],
        "drop": ["drop", TABLE, "ship"],
        "dropped": ["show", TABLE, "ship"],
    }
    given = [
        arguments if arguments[0] == "demo" else [*arguments, *on_table]
        for arguments in commands.values()
    ]
    ran = subprocess.run(
        [sys.executable, "-c", DRIVER],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    chatter, _, results = ran.stdout.partition("RESULTS")
    assert (chatter, ran.stderr) == ("", ""), "Spark writes over the command's own output"
    return {name: Done(*result) for name, result in zip(commands, json.loads(results), strict=True)}


def test_the_demo_skips_files(done: dict[str, Done]) -> None:
    """Every query opens fewer files, the point query few, and time travel none of the new one."""
    assert done["demo"].status == 0, done["demo"].stderr
    queries = {query["name"]: query for query in done["demo"].json["queries"]}

    assert [q["name"] for q in queries.values() if q["files_on"] >= q["files_off"]] == []
    assert queries["point"]["files_off"] == 40
    assert 1 <= queries["point"]["files_on"] <= 7
    assert queries["after an append"]["uncovered"] == 1
    assert queries["after an append"]["rows"] == 2 * queries["point"]["rows"]
    assert queries["time travel"]["rows"] == queries["point"]["rows"] > 0
    assert queries["time travel"]["files_on"] == queries["point"]["files_on"]


# the first run has every query already
@pytest.mark.soak
def test_the_demo_reuses_its_data(done: dict[str, Done]) -> None:
    """A second run takes the table of the first, at the snapshot that was loaded."""
    again = done["demo again"]

    assert again.status == 0, again.stderr
    assert f"Reusing {TABLE}" in again.stderr
    assert "data files, answers equal" in again.stdout


def test_indexes_are_listed_and_shown(done: dict[str, Done]) -> None:
    """Both of the demo's indexes are listed, and one shown with its size."""
    assert sorted(info["name"] for info in done["list"].json) == ["l_orderkey", "l_partkey"]
    assert "l_orderkey bigint" in done["show"].stdout or "l_orderkey long" in done["show"].stdout
    assert [commit["operation"] for commit in done["history"].json] == ["create"]


def test_files_are_paths(done: dict[str, Done]) -> None:
    """``files`` writes existing data files, the same in both forms."""
    paths = done["files"].stdout.splitlines()

    assert paths == done["files json"].json["paths"]
    assert [path for path in paths if not Path(unquote(urlparse(path).path)).exists()] == []
    assert len(paths) < done["files json"].json["total"]


def test_explain_names_the_index(done: dict[str, Done]) -> None:
    """``explain`` says which index answered."""
    assert "l_orderkey" in done["explain"].stdout
    assert "index-used" in done["explain"].stdout


def test_a_date_can_be_indexed(done: dict[str, Done]) -> None:
    """An index under a name of its own answers for its column."""
    assert done["create"].json["name"] == "ship"
    assert done["by date"].json["indexes"] == ["ship"]
    assert len(done["by date"].json["paths"]) < done["by date"].json["total"]


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("no version", "nonsense"),
        ("exists", "already has an index"),
        ("no column", "l_nonsense"),
        ("no column in predicate", "l_nonsense"),
        ("no table", "lake.tpch.nonsense"),
        ("no catalog", "nonsense.tpch.lineitem"),
        ("not a table", "iceberg:"),
        ("no predicate", "l_orderkey = = 5"),
        ("dropped", "ship"),
    ],
)
def test_bad_input_is_one_line(done: dict[str, Done], name: str, word: str) -> None:
    """What cannot work ends with status 1, nothing on stdout, and one line that names it."""
    assert (done[name].status, done[name].stdout) == (1, "")
    assert word in done[name].error
    said = done[name].stderr.splitlines()
    assert len([line for line in said if not line.startswith("Starting Spark")]) == 1


def test_drop_drops(done: dict[str, Done]) -> None:
    """A dry run says what would be dropped, a real one drops it."""
    assert done["dry drop"].stdout.startswith("Would drop the index ship")
    assert done["drop"].stdout.startswith("Dropped the index ship")
