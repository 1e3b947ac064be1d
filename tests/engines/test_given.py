"""Predicates as expressions of other libraries find the files that those libraries would."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyiceberg.expressions.visitors import bind
from pyiceberg.io.pyarrow import expression_to_pyarrow
from tests.depth import depth
from tests.engines.drawn import IS, POLARS, arrow_filter, pyiceberg_filter
from tests.engines.tables import COLUMNS, index_of, rows

import lakesieve as ls
from lakesieve.errors import ErrorKind, LakesieveError
from lakesieve.tables.opening import open_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyiceberg.schema import Schema

FILES, ROWS = 10, 5
PREDICATES = depth("PREDICATES", test=20, soak=2000)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pa.Table]:
    """The rows of each data file of a directory whose columns are indexed."""
    folder = tmp_path_factory.mktemp("given")
    drawn = random.Random("given")
    made = {}
    for number in range(FILES):
        file = folder / f"{number}.parquet"
        made[str(file)] = rows(drawn, ROWS)
        pq.write_table(made[str(file)], file)
    for column in COLUMNS:
        if column != "flag":
            index_of(open_table(f"parquet:{folder}"), column, covers=lambda _: True)
    return made


def _left_out(
    files: dict[str, pa.Table], predicate: Any, matches: Callable[[pa.Table], int]
) -> int:
    """Insist that no file with a match is left out; tells how many are."""
    table = f"parquet:{Path(next(iter(files))).parent}"
    found = {path.removeprefix("file:") for path in ls.find_files(table, predicate).paths}
    assert {path for path, held in files.items() if matches(held)} <= found, predicate
    return len(files) - len(found)


def test_arrow(files: dict[str, pa.Table]) -> None:
    """Arrow's filters, drawn."""
    drawn = random.Random("given to Arrow")
    wanted = [arrow_filter(drawn) for _ in range(PREDICATES)]
    left_out = [_left_out(files, at, lambda held: held.filter(at).num_rows) for at in wanted]  # noqa: B023

    assert sum(left_out) > PREDICATES


def test_pyiceberg(files: dict[str, pa.Table]) -> None:
    """PyIceberg's filters, drawn; its own reader tells which rows they keep."""
    drawn = random.Random("given to PyIceberg")
    schema = _iceberg_schema()
    left_out = []
    for _ in range(PREDICATES):
        wanted = pyiceberg_filter(drawn)
        kept = expression_to_pyarrow(bind(schema, wanted, case_sensitive=True))
        left_out.append(_left_out(files, wanted, lambda held: held.filter(kept).num_rows))  # noqa: B023

    assert sum(left_out) > PREDICATES


def _iceberg_schema() -> Schema:
    from pyiceberg.io.pyarrow import _ConvertToIcebergWithoutIDs, visit_pyarrow
    from pyiceberg.schema import assign_fresh_schema_ids

    made = visit_pyarrow(pa.schema(list(COLUMNS.items())), _ConvertToIcebergWithoutIDs())
    return assign_fresh_schema_ids(made)


def test_the_digits_of_decimals(files: dict[str, pa.Table]) -> None:
    """All 38 digits count, in each kind of expression."""
    held = {v for part in files.values() for v in part.column("money").drop_null().to_pylist()}
    long = sorted(value for value in held if value > 10**30)
    assert len(long) > FILES
    for value in long:
        scalar = pa.scalar(value, COLUMNS["money"])
        for wanted in (
            IS.EqualTo("money", value),
            pc.field("money") == scalar,
            pl.col("money") == value,
        ):
            left_out = _left_out(
                files,
                wanted,
                lambda part: pc.sum(pc.equal(part.column("money"), scalar)).as_py(),  # noqa: B023
            )
            assert left_out > 0, wanted


def test_polars(files: dict[str, pa.Table]) -> None:
    """Polars' filters, whose literals have no types before Polars has seen the columns."""
    left_out = [
        _left_out(files, at, lambda held: pl.DataFrame(pl.from_arrow(held)).filter(at).height)  # noqa: B023
        for at in POLARS
    ]

    assert sum(left_out) > len(POLARS)


@pytest.mark.parametrize(
    "predicate",
    [
        pc.field("nothing") == 5,
        pl.col("nothing") == 5,
        IS.EqualTo("nothing", 5),
        pc.field("text") == 5,
        IS.EqualTo("id", "five"),
        5,
        b"id = 5",
    ],
    ids=str,
)
def test_what_does_not_fit_is_an_error(files: dict[str, pa.Table], predicate: Any) -> None:
    """Not an answer of all files, and not one of none."""
    with pytest.raises(LakesieveError) as caught:
        _left_out(files, predicate, lambda _: 0)
    assert caught.value.kind in {ErrorKind.INVALID_PREDICATE, ErrorKind.COLUMN_NOT_FOUND}


def test_one_index_answers_them(files: dict[str, pa.Table]) -> None:
    """So does an index, and the answer shows the predicate as it was given."""
    path, held = next(iter(files.items()))
    key = held.column("id").drop_null()[0].as_py()
    index = ls.open_index(f"parquet:{Path(path).parent}", "id")
    answers = [
        index.files(predicate)
        for predicate in (
            f"id = {key}",
            pc.field("id") == key,
            pl.col("id") == key,
            IS.EqualTo("id", key),
        )
    ]

    assert len({tuple(found.paths) for found in answers}) == 1
    assert len(answers[0].paths) < FILES
    assert str(key) in index.explain(pl.col("id") == key)
