"""Keys that a table has, without Spark: never called absent, and exact when confirmed."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.depth import depth
from tests.engines.tables import COLUMNS, index_of, rows
from tests.engines.test_delta import Files, _gone, _index, _inline, schema_of
from tests.tables.test_delta_reader import added

import lakesieve as ls
from lakesieve.errors import InvalidInputError, NotFoundError
from lakesieve.tables.opening import open_table

if TYPE_CHECKING:
    from collections.abc import Iterable

FILES, ROWS, UNCOVERED = 8, 6, "7.parquet"
KEYED = [name for name in COLUMNS if name != "flag"]
LISTS = depth("LISTS", test=5, soak=300)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of drawn files, each column indexed, and beside it one without the last file."""
    root = tmp_path_factory.mktemp("contains")
    drawn = random.Random("contains")
    for name, covers in (("all", lambda _: True), ("most", lambda path: UNCOVERED not in path)):
        (root / name).mkdir()
        for number in range(FILES):
            pq.write_table(rows(drawn, ROWS), root / name / f"{number}.parquet")
        for column in KEYED:
            index_of(open_table(f"parquet:{root / name}"), column, covers=covers)
    return root


def plain(value: Any) -> str:
    """A value as text, both zeros and all NaNs alike."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else repr(value + 0.0)
    return repr(value)


def held(folder: Path, column: str) -> dict[str, set[str]]:
    """The values of a column by the names of the files."""
    return {
        path.name: {plain(v) for v in pq.read_table(path).column(column).to_pylist()}
        for path in folder.glob("*.parquet")
    }


def pairs(contained: ls.KeyPresence, keys: pa.Array) -> set[tuple[str, str]]:
    """The pairs of an answer, by value and name of the file."""
    given = [plain(value) for value in keys.to_pylist()]
    listed = contained.pairs.to_pylist()
    assert len(listed) == len({(row["key"], row["file"]) for row in listed})
    assert [row["key"] for row in listed] == sorted(row["key"] for row in listed)
    return {(given[row["key"]], Path(row["file"]).name) for row in listed}


@pytest.mark.parametrize("column", KEYED)
def test_no_key_of_a_row_is_absent(folder: Path, column: str) -> None:
    """Values of every type, some of them in the table: the answers of the rows themselves."""
    values = held(folder / "all", column)
    index = ls.open_index(f"parquet:{folder / 'all'}", column)
    drawn = random.Random(f"contains {column}")
    absent = 0
    for _ in range(LISTS):
        keys = rows(drawn, 40).column(column).combine_chunks()
        here = pq.read_table(folder / "all" / "3.parquet").column(column).combine_chunks()
        keys = pa.concat_arrays([keys, here, keys.slice(0, 3)])
        there = [any(plain(value) in one for one in values.values()) for value in keys.to_pylist()]
        real = {
            (k, f) for k in map(plain, keys.to_pylist()) for f, one in values.items() if k in one
        }

        possible = index.contains(keys)
        answer = possible.absent.to_pylist()
        assert not any(a and b for a, b in zip(answer, there, strict=True))
        assert real <= pairs(possible, keys)
        absent += sum(answer)

        sure = index.contains(keys, confirm=True)
        assert sure.confirmed
        assert sure.absent.to_pylist() == [not one for one in there]
        assert {key for key, _ in pairs(sure, keys)} == {key for key, _ in real}
        assert real <= pairs(sure, keys)
    assert absent


@pytest.mark.parametrize("column", ["id", "text"])
def test_files_that_no_index_has_seen(folder: Path, column: str) -> None:
    """Nothing is absent while one is there, unless it was read."""
    values = held(folder / "most", column)
    index = ls.open_index(f"parquet:{folder / 'most'}", column)
    keys = rows(random.Random("uncovered"), 60).column(column)

    possible = index.contains(keys)
    sure = index.contains(keys, confirm=True)

    assert [Path(path).name for path in possible.uncovered] == [UNCOVERED]
    assert possible.absent.true_count == 0
    there = [any(plain(v) in one for one in values.values()) for v in keys.to_pylist()]
    assert sure.absent.to_pylist() == [not one for one in there]


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """Three files of a Delta table, indexed, rows of the second one deleted."""
    made = Files(tmp_path / "ä b" / "t", schema_of(("k", "long", {}), ("s", "string", {})))
    for number in range(3):
        keys = list(range(number, 30, 3))
        made.add(f"{number}.parquet", pa.table({"k": keys, "s": [f"s{k}" for k in keys]}))
    _index(made)
    made.commit_next(added("1.parquet", 10, deletionVector=_inline(0, 3)), _gone("1.parquet"))
    return made


def test_deleted_rows_are_absent_once_confirmed(files: Files) -> None:
    """The index names the file of a deleted row; the file's deletion vector is seen to."""
    index = ls.open_index(f"delta:{files.root}", "k")

    assert index.contains([1, 4, 10, 31]).absent.to_pylist() == [False, False, False, True]
    assert index.contains([1, 4, 10, 31], confirm=True).absent.to_pylist() == [
        *(True, False, True, True)
    ]
    before = index.contains([1, 10, 31], version=3, confirm=True)
    assert before.absent.to_pylist() == [False, False, True]
    assert str(before).splitlines()[1] == "1 absent, 2 present, in 1 of 3 data files"
    assert ls.open_index(f"delta:{files.root}", "k").contains([5], version=0).files == 0


@pytest.mark.parametrize(
    "keys",
    [
        [4, 31],
        pa.array([4, 31], pa.int16()),
        pa.chunked_array([[4], [31]]),
        pa.array([4, 31]).dictionary_encode(),
        pa.table({"K": [4, 31]}),
        pa.record_batch({"k": [4, 31]}),
        pl.DataFrame({"k": [4, 31]}),
        pd.DataFrame({"k": [4, 31]}),
    ],
    ids=["list", "int16", "chunks", "dictionary", "table", "batch", "polars", "pandas"],
)
def test_forms_of_keys(files: Files, keys: Any) -> None:
    """All that holds columns of Arrow is taken."""
    assert ls.open_index(f"delta:{files.root}", "k").contains(keys).absent.to_pylist() == [
        False,
        True,
    ]


def test_no_keys(files: Files) -> None:
    """Of no keys none are absent."""
    answer = ls.open_index(f"delta:{files.root}", "k").contains(pa.array([], pa.int64()))

    assert (len(answer.absent), answer.pairs.num_rows) == (0, 0)


@pytest.mark.parametrize(
    ("keys", "error", "words"),
    [
        (["4"], InvalidInputError, "values of k, which has type"),
        (pa.array(["4"]), InvalidInputError, "type string, but k has type"),
        (pa.array([4.0]), InvalidInputError, "type double, but k has type"),
        (pa.table({"s": ["4"]}), InvalidInputError, "not key columns of the index: s"),
        (pa.table({}), NotFoundError, "have no column k"),
        (pa.table([[4], [4]], names=["k", "K"]), InvalidInputError, "k twice"),
        (5, InvalidInputError, "int cannot be read as keys"),
    ],
)
def test_what_is_refused(files: Files, keys: Any, error: type[Exception], words: str) -> None:
    """Keys of another type, or none at all, are named with what to do."""
    with pytest.raises(error, match=words):
        ls.open_index(f"delta:{files.root}", "k").contains(keys)


def names(paths: Iterable[str]) -> set[str]:
    """Names of files."""
    return {Path(path).name for path in paths}


def test_only_the_files_of_possible_keys_are_read(files: Files) -> None:
    """A file that can hold none of the keys may be gone; another may not."""
    index = ls.open_index(f"delta:{files.root}", "k")
    (files.root / "2.parquet").unlink()

    sure = index.contains([3, 4, 31], confirm=True)

    assert sure.absent.to_pylist() == [False, False, True]
    assert names(sure.pairs.column("file").to_pylist()) == {"0.parquet", "1.parquet"}
    with pytest.raises(NotFoundError, match=r"2\.parquet does not exist"):
        index.contains([2], confirm=True)
