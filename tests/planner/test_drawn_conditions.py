"""The planner by its protocol, without Spark: every file with a match is kept, others are not."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from importlib import metadata
from typing import TYPE_CHECKING, Any

import deltalake
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from tests.depth import depth
from tests.engines.tables import COLUMNS, indexes_with_gaps, rows, rows_by_file
from tests.planner.conditions import drawn_condition, drawn_keys, truth
from tests.planner.engine import Engine, frame, scan_of, single

from lakesieve.planner import Planner
from lakesieve.tables.opening import open_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from lakesieve.tables import TableReader

FILES = 12
ROWS = 6
CONDITIONS = depth("PLANNER_CONDITIONS", test=300, soak=6000)
SETTINGS = '{"locations": "", "trusted": "", "hadoop": {}}'


def _iceberg(folder: Path, parts: list[Any]) -> Any:
    catalog = SqlCatalog("c", uri=f"sqlite:///{folder}/c.db", warehouse=str(folder / "d"))
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", schema=parts[0].schema)
    with table.transaction() as transaction:
        for part in parts:
            transaction.append(part)
    return table


def _delta(folder: Path, parts: list[Any]) -> str:
    for part in parts:
        deltalake.write_deltalake(str(folder / "t"), part, mode="append")
    return f"delta:{folder / 't'}"


def _parquet(folder: Path, parts: list[Any]) -> str:
    for number, part in enumerate(parts):
        pq.write_table(part, folder / f"{number}.parquet")
    return f"parquet:{folder}"


MAKE: dict[str, Callable[[Path, list[Any]], Any]] = {
    "iceberg": _iceberg,
    "delta": _delta,
    "parquet": _parquet,
}


@pytest.fixture(scope="module", params=list(MAKE))
def table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> TableReader:
    """A table of drawn rows, with indexes that cover most of its files."""
    drawn = random.Random(request.param)
    folder = tmp_path_factory.mktemp(request.param)
    made = open_table(MAKE[request.param](folder, [rows(drawn, ROWS) for _ in range(FILES)]))
    indexes_with_gaps(made, COLUMNS, drawn)
    return made


@pytest.fixture(scope="module")
def in_process() -> Engine:
    """An engine with the planner in its own process."""
    return Engine(Planner().answer)


@pytest.fixture(scope="module")
def over_pipes() -> Iterator[Engine]:
    """An engine whose planner is a child process."""
    command = [sys.executable, "-m", "lakesieve.planner.companion", metadata.version("lakesieve")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        to, answers, lock = child.stdin, child.stdout, threading.Lock()
        to.write(frame(1, f"s\n{SETTINGS}"))

        def ask(text: str) -> str:
            with lock:
                to.write(frame(2, f"s\n{text}", 7))
                to.flush()
                number, kind, answer = single(answers.read)
            assert (number, kind) == (7, 0), answer
            return answer

        yield Engine(ask)
        to.close()


def _check(table: TableReader, engine: Engine, drawn: random.Random, count: int) -> int:
    """Compare answers with all rows; how many files were left out."""
    held = rows_by_file(table)
    paths = list(held)
    left_out = 0
    for number in range(count):
        condition = drawn_condition(drawn)
        keys = [drawn_keys(drawn) for _ in range(drawn.randrange(2))]
        same = [condition, *(key.pop("plain") for key in keys)]
        kept = engine.kept(scan_of(table, condition, keys=keys), paths)
        needed = {
            path
            for path, found in held.items()
            if any(all(truth(each, row) is True for each in same) for row in found)
        }
        assert needed <= kept, (number, condition, keys)
        left_out += len(paths) - len(kept)
    return left_out


def test_files_with_a_match_are_kept(table: TableReader, in_process: Engine) -> None:
    """Drawn conditions and keys of joins: never a file too few, and many files are left out."""
    drawn = random.Random("conditions")

    assert _check(table, in_process, drawn, CONDITIONS) > CONDITIONS


def test_the_same_over_pipes(table: TableReader, over_pipes: Engine) -> None:
    """So it is with the planner in a process of its own."""
    drawn = random.Random("pipes")

    assert _check(table, over_pipes, drawn, CONDITIONS // 10) > CONDITIONS // 10


@pytest.mark.parametrize("name", [name for name in COLUMNS if name != "flag"])
def test_a_value_finds_its_files(table: TableReader, in_process: Engine, name: str) -> None:
    """Equality with a value of each type leaves out files; the answer says which columns can."""
    paths = table.live_files(table.version()).column("path").to_pylist()
    drawn = random.Random(name)
    fewest = len(paths)
    for _ in range(8):
        condition = drawn_condition(drawn, 0)
        while condition["op"] != "=" or condition["col"] != [name]:
            condition = drawn_condition(drawn, 0)
        scan = scan_of(table, condition)
        assert [name] in in_process.scan(scan)["leading"]
        fewest = min(fewest, len(in_process.kept(scan, paths)))
    assert fewest < FILES - 3
