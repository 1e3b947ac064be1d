"""Arrow datasets, and DuckDB and Polars over them, give the rows of the whole table's filter."""

from __future__ import annotations

import pickle
import random
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.types import IntegerType
from tests.depth import depth
from tests.engines.drawn import POLARS, arrow_filter
from tests.engines.tables import COLUMNS, index_of, rows

from lakesieve.engines import arrow
from lakesieve.engines import duckdb as duckdb_engine
from lakesieve.engines import polars as polars_engine
from lakesieve.errors import ErrorKind, LakesieveError
from lakesieve.index import ReasonCode
from lakesieve.tables.opening import open_table

if TYPE_CHECKING:
    from pathlib import Path

    from pyiceberg.table import Table

FILES, ROWS = 10, 6
PREDICATES = depth("PREDICATES", test=20, soak=1500)


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """A table of some files with an index on each column that can have one."""
    folder = tmp_path
    catalog = SqlCatalog("c", uri=f"sqlite:///{folder}/c.db", warehouse=str(folder / "d"))
    catalog.create_namespace("db")
    drawn = random.Random("arrow")
    made = catalog.create_table("db.t", schema=pa.schema(list(COLUMNS.items())))
    for _ in range(FILES):
        made.append(rows(drawn, ROWS))
    for column in COLUMNS:
        index_of(open_table(made), column, covers=lambda path: not path.endswith("7.parquet"))
    return made


def _sorted(found: pa.Table) -> list[str]:
    return sorted(map(repr, found.to_pylist()))


def _left_out(dataset: Any, whole: pa.Table, drawn: random.Random) -> int:
    """Insist that drawn filters give the rows of the whole; tells how many files were left out."""
    total = read = 0
    for _ in range(PREDICATES):
        wanted = arrow_filter(drawn)
        expected = whole.filter(wanted)
        columns = drawn.sample(whole.column_names, 3)

        assert _sorted(dataset.to_table(filter=wanted)) == _sorted(expected), wanted
        (pruned,) = polars_engine.last_pruning()
        assert not {r.code for r in pruned.reasons} & {ReasonCode.INTERNAL_ERROR}, pruned
        total, read = total + pruned.files_total, read + pruned.files_read
        chosen = dataset.to_table(columns=columns, filter=wanted)
        assert _sorted(chosen) == _sorted(expected.select(columns))
        assert dataset.count_rows(filter=wanted) == expected.num_rows
    return total - read


def test_filters_are_exact(table: Table) -> None:
    """Filters of every kind on columns of every type, with the columns that are wanted."""
    dataset = arrow.dataset(table)
    whole = table.scan().to_arrow().cast(dataset.schema)

    assert _sorted(dataset.to_table()) == _sorted(whole)
    assert _left_out(dataset, whole, random.Random("filters")) > 0


def test_filters_without_columns(table: Table) -> None:
    """A value in the place of a filter is what it says of every row."""
    dataset = arrow.dataset(table)
    for value, expected in ((True, dataset.count_rows()), (False, 0), (None, 0)):
        scanner = dataset.scanner(filter=pa.scalar(value, pa.bool_()))
        assert scanner.to_table().num_rows == expected
    assert list(dataset.get_fragments(pa.scalar(False))) == []


def test_versions(table: Table) -> None:
    """A dataset is of one version, under the columns that it had."""
    drawn = random.Random("versions")
    first = table.current_snapshot()
    assert first is not None
    old = table.scan().to_arrow()
    with table.update_schema() as update:
        update.rename_column("small", "less")
    with table.update_schema() as update:
        update.add_column("small", IntegerType())
    more = rows(drawn, ROWS)
    table.append(more.append_column("less", pa.array([1] * ROWS, pa.int32())))
    table.delete("day > '2002-01-01'")

    then, now = arrow.dataset(table, first.snapshot_id), arrow.dataset(table)

    assert then.schema.names == old.column_names
    assert _left_out(then, old.cast(then.schema), drawn) > 0
    # the deletion rewrote nearly all files, and no index has seen the new ones
    _left_out(now, table.scan().to_arrow().cast(now.schema), drawn)


SQL = [
    "id = 5",
    "id IN (1, 2, 3) AND real > 0.5",
    "id BETWEEN -4 AND 9",
    "text = 'ab' OR id = 3",
    "text LIKE 'a%'",
    "text <> 'a'",
    "day = DATE '2000-04-10'",
    "moment < TIMESTAMPTZ '1970-01-05 00:00:00+00'",
    "plain >= TIMESTAMP '1970-01-05 00:00:00'",
    "money = 1.25",
    "real < 0",
    "real = 'nan'::DOUBLE",
    "NOT (real > 1)",
    "NOT (id > 1 AND text = 'a')",
    "single = 0.1",
    "single = 0.1::FLOAT",
    "single < 0.1",
    "flag",
    "data = 'a'::BLOB",
    "id IS NULL",
    "small NOT IN (1, 2)",
    "small + 1 = 5",
]


def test_duckdb(table: Table) -> None:
    """DuckDB's own SQL, pushed down or not, on the table and on its rows in memory."""
    con = duckdb.connect()
    con.register("whole", table.scan().to_arrow())
    duckdb_engine.relation(con, table).create_view("indexed")
    con.register("registered", arrow.dataset(table))
    read = total = 0
    for condition in SQL:
        for columns in ("*", "count(*)", "text, id"):
            query = f"SELECT {columns} FROM {{}} WHERE {condition}"
            expected = sorted(map(repr, con.execute(query.format("whole")).fetchall()))
            for view in ("indexed", "registered"):
                found = sorted(map(repr, con.execute(query.format(view)).fetchall()))
                assert found == expected, (condition, view)
            (pruned,) = duckdb_engine.last_pruning()
            total, read = total + pruned.files_total, read + pruned.files_read
    assert read < total
    joined = "SELECT count(*) FROM {} a JOIN (VALUES (5), (7)) v(k) ON a.id = k"
    assert con.execute(joined.format("indexed")).fetchall() == (
        con.execute(joined.format("whole")).fetchall()
    )


def test_polars(table: Table) -> None:
    """Polars' expressions on the table and on its rows in memory."""
    whole = pl.DataFrame(pl.from_arrow(table.scan().to_arrow()))
    for condition in POLARS:
        frame = polars_engine.scan(table).filter(condition)
        expected = whole.filter(condition)
        assert sorted(map(repr, frame.collect().rows())) == sorted(map(repr, expected.rows()))
        chosen = frame.select("text", "id").collect().rows()
        assert sorted(map(repr, chosen)) == sorted(map(repr, expected.select("text", "id").rows()))
    expected = whole.filter(pl.col("id") == 5)
    assert polars_engine.scan(table).filter(pl.col("id") == 5).collect().height == expected.height
    (pruned,) = polars_engine.last_pruning()
    assert pruned.files_read < pruned.files_total


def test_what_is_refused(tmp_path: Path, table: Table) -> None:
    """A dataset stays in its process; where there is no table, it says so."""
    with pytest.raises(TypeError):
        pickle.dumps(arrow.dataset(table))
    with pytest.raises(LakesieveError) as caught:
        arrow.dataset(f"hudi:{tmp_path}")
    assert caught.value.kind is ErrorKind.TABLE_NOT_FOUND
