"""The recipes of CONTRIBUTING, done with toys: each touches the places that its recipe names."""

from __future__ import annotations

import random
from datetime import time
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from tests.kit.building import build_index, refresh_index
from tests.recipes.listed import LISTED, ListedRows, write_version

import lakesieve as ls
from lakesieve.engines import arrow, table_rows
from lakesieve.engines.engine_scans import last_pruning
from lakesieve.engines.table_rows import rows_of
from lakesieve.index import ReasonCode
from lakesieve.predicate import literals
from lakesieve.predicate.expression import And, Compare, Literal, Unknown
from lakesieve.predicate.literals import Bound
from lakesieve.sieve import KINDS, KeyKind, KeyType
from lakesieve.tables.formats import FORMATS
from lakesieve.tables.opening import open_table

if TYPE_CHECKING:
    from pathlib import Path

    from lakesieve.predicate import Expr

FILES, ROWS = 4, 50
MICROSECONDS_OF_A_MINUTE = 60_000_000


def _part(at: int) -> pa.Table:
    """The rows of a data file: ids of one remainder, and times of one quarter of an hour each."""
    ids = range(at, FILES * ROWS, FILES)
    times = [time(hour=number % 24, minute=15 * at) for number in range(ROWS)]
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "at": pa.array(times, pa.time64("us")),
            "text": [f"t{number % 7}" for number in ids],
        }
    )


# the toy kind of key: times of day, which Spark has no type for


def _times(_: KeyType, values: pa.Array) -> pa.Array | None:
    """Encode times as microseconds since midnight."""
    return values.view(pa.int64()) if values.type == pa.time64("us") else None


def _time_code(literal: Literal) -> Bound | None:
    """Place a text such as ``12:30`` among the codes."""
    if literal.kind != "text" or not isinstance(literal.value, str):
        return None
    try:
        hour, minute = map(int, literal.value.split(":"))
    except ValueError:
        return None
    return Bound(code=(60 * hour + minute) * MICROSECONDS_OF_A_MINUTE)


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A table of the toy format, known by an entry in each table that the recipes name."""
    monkeypatch.setitem(FORMATS, "listed", LISTED)
    monkeypatch.setitem(table_rows.ROWS, "listed", ListedRows)
    monkeypatch.setitem(KINDS, "time", KeyKind(encode=_times))
    monkeypatch.setitem(literals.CODES, "time", _time_code)
    parts = {f"{at}.parquet": _part(at) for at in range(FILES)}
    write_version(tmp_path, 1, parts)
    return f"listed:{tmp_path}"


def _read(column: str) -> Any:
    return lambda path: pq.read_table(path.removeprefix("file:")).column(column).combine_chunks()


def test_a_format(table: str, tmp_path: Path) -> None:
    """The index finds files of every version without Spark; queries read files it has not seen."""
    build_index(open_table(table), "id", _read("id"))
    found = ls.find_files(table, "id = 6")
    assert [path.rpartition("/")[2] for path in found.paths] == ["2.parquet"]

    more = {"more.parquet": _part(0)}
    write_version(tmp_path, 2, {f"{at}.parquet": _part(at) for at in range(1, FILES)} | more)
    fresh = ls.find_files(table, "id = 6")
    assert (len(fresh.paths), fresh.uncovered, fresh.total) == (2, 1, FILES)
    assert len(ls.find_files(table, "id = 6", version="1").paths) == 1

    refresh_index(open_table(table), "id", _read("id"))
    assert len(ls.find_files(table, "id = 6").paths) == 1
    (info,) = ls.list_indexes(table)
    assert (info.table_format, info.files) == ("listed", FILES + 1)


def test_engines_read_the_format(table: str) -> None:
    """Arrow's dataset, and so DuckDB and others, open the files that can match."""
    build_index(open_table(table), "id", _read("id"))

    answer = arrow.dataset(table).to_table(filter=pc.field("id") == 6)

    assert answer.column("text").to_pylist() == ["t6"]
    (pruned,) = last_pruning()
    assert (pruned.files_read, pruned.files_total) == (1, FILES)


# the toy engine: filters are dictionaries, a value or a pair of bounds for each column


def _condition(column: str, wanted: object) -> Expr:
    match wanted:
        case int():
            return _compare(column, "=", wanted)
        case tuple((int() as low, int() as high)):
            return And(args=(_compare(column, ">=", low), _compare(column, "<", high)))
    return Unknown(text=repr(wanted))


def _compare(column: str, sign: Any, value: int) -> Expr:
    return Compare(column=(column,), op=sign, value=Literal(kind="integer", value=value))


def scan(table: str, **wanted: Any) -> list[dict[str, Any]]:
    """Return the rows that fulfil all conditions, from the files that can hold them."""
    opened = rows_of(open_table(table, warehouse=""), None)
    conditions = tuple(_condition(column, value) for column, value in wanted.items())
    schema, batches = opened.batches(And(args=conditions))
    found = pa.Table.from_batches(batches, schema).to_pylist()
    return [row for row in found if all(_holds(row[c], v) for c, v in wanted.items())]


def _holds(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, tuple):
        return bool(wanted[0] <= value < wanted[1])
    return bool(value in wanted if isinstance(wanted, list) else value == wanted)


def test_an_engine(table: str) -> None:
    """Its rows are those of the whole table, and it opens fewer files where it may."""
    build_index(open_table(table), "id", _read("id"))
    every = [row for at in range(FILES) for row in _part(at).to_pylist()]
    drawn = random.Random("engine")
    opened = 0
    for _ in range(50):
        low = drawn.randrange(-5, FILES * ROWS + 5)
        wanted = {"id": drawn.choice([low, (low, low + 2), [low, low + 1]])}
        expected = [row for row in every if _holds(row["id"], wanted["id"])]
        assert sorted(map(repr, scan(table, **wanted))) == sorted(map(repr, expected)), wanted
        opened += last_pruning()[0].files_read
    assert opened < 50 * FILES * 0.8
    # what it does not understand reads every file
    assert len(scan(table, id=[1])) == 1
    assert last_pruning()[0].files_read == FILES


@pytest.mark.parametrize(
    ("predicate", "files"),
    [
        ("at = '07:30'", {"2.parquet"}),
        ("at = '07:31'", set()),
        ("at >= '23:30'", {"2.parquet", "3.parquet"}),
        ("at < '00:01'", {"0.parquet"}),
        ("at IS NULL", set()),
        ("at = 'noon'", {f"{at}.parquet" for at in range(FILES)}),
    ],
)
def test_a_kind_of_key(table: str, predicate: str, files: set[str]) -> None:
    """Keys become segments, and conditions on them find exactly their files."""
    build_index(open_table(table), "at", _read("at"))

    found = ls.find_files(table, predicate)

    assert {path.rpartition("/")[2] for path in found.paths} == files
    assert ls.open_index(table, "at").verify().is_sound
    is_used = ReasonCode.INDEX_USED in {reason.code for reason in found.reasons}
    assert is_used is ("noon" not in predicate)
