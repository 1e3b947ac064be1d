"""Limits of Polars and DuckDB: their own rows, and no more data files than the limit needs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from tests.engines.tables import index_of

import lakesieve as ls
from lakesieve.engines import duckdb as duckdb_engine
from lakesieve.engines import polars as polars_engine
from lakesieve.tables.opening import open_table

if TYPE_CHECKING:
    from typing import Any

FILES, ROWS = 12, 50


def _rows(file: int) -> pa.Table:
    """Return the rows of a data file. The keys of all files go from low to high."""
    keys = [at * FILES + file for at in range(ROWS)]
    return pa.table({"k": pa.array(keys, pa.int64()), "v": pa.array([file] * ROWS, pa.int64())})


@pytest.fixture(params=["iceberg", "parquet"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """A table of some files with an index on its key."""
    made: Any = f"parquet:{tmp_path}/t"
    if request.param == "iceberg":
        properties = {"uri": f"sqlite:///{tmp_path}/c.db", "warehouse": str(tmp_path / "d")}
        catalog = SqlCatalog("c", **properties)
        catalog.create_namespace("db")
        made = catalog.create_table("db.t", schema=_rows(0).schema)
    else:
        (tmp_path / "t").mkdir()
    for file in range(FILES):
        if request.param == "iceberg":
            made.append(_rows(file))
        else:
            pq.write_table(_rows(file), tmp_path / "t" / f"{file:02}.parquet")
    index_of(open_table(made), "k", covers=lambda _: True)
    return made


def _damage_all_but(table: Any, kept: int) -> None:
    """Leave the rows of one file readable: the file with this value."""
    reader = open_table(table)
    for path in reader.live_files(reader.version()).column("path").to_pylist():
        file = Path(path.removeprefix("file://").removeprefix("file:").partition("#")[0])
        if pq.read_table(file).column("v")[0].as_py() != kept:
            # of the same size, so that listings stay as they are
            file.write_bytes(b"x" * file.stat().st_size)


def test_head_opens_few_files(table: Any) -> None:
    """Polars hands the limit over: the scan needs no file after the rows of the limit."""
    (first,) = polars_engine.scan(table).head(1).collect()["v"].to_list()
    _damage_all_but(table, first)

    for engine in ("in-memory", "streaming"):
        found = polars_engine.scan(table).head(ROWS).collect(engine=engine)
        assert found["v"].to_list() == [first] * ROWS


def test_a_filter_above_a_limit(table: Any) -> None:
    """Polars hands both over, and the filter keeps some of the first rows of the table."""
    scan = polars_engine.scan(table)
    for limit in (7, ROWS, ROWS + 3, FILES * ROWS):
        some = scan.head(limit)
        for condition in (pl.col("k") > 40, pl.col("v") == 1, pl.col("k") == -1):
            expected = some.collect().filter(condition)
            assert some.filter(condition).collect().equals(expected)
            narrow = some.filter(condition).select("v").collect()
            assert narrow.equals(expected.select("v"))


def test_a_limit_above_a_filter(table: Any) -> None:
    """As many rows come as there are, and they fulfil the filter."""
    scan = polars_engine.scan(table)
    for key, count in ((100, 5), (FILES * ROWS - 2, 2)):
        found = scan.filter(pl.col("k") >= key).head(5).collect()
        assert len(found) == count
        assert all(value >= key for value in found["k"].to_list())


def test_first_rows_by_their_condition(table: Any) -> None:
    """The condition of the first rows makes Polars and DuckDB read only the files of these rows."""
    first = ls.find_files(table, order_by="k DESC", limit=3)
    assert len(first.paths) == 3
    highest = [FILES * ROWS - at for at in (1, 2, 3)]

    scan = polars_engine.scan(table).filter(pl.sql_expr(first.condition))
    assert scan.sort("k", descending=True, nulls_last=True).head(3).collect()["k"].to_list() == (
        highest
    )
    assert ls.last_pruning()[0].files_read == 3
    assert scan.top_k(3, by="k").collect()["k"].sort(descending=True).to_list() == highest

    con = duckdb.connect()
    duckdb_engine.relation(con, table).create_view("t")
    text = f"SELECT k FROM t WHERE {first.condition} ORDER BY k DESC NULLS LAST LIMIT 3"
    assert [row[0] for row in con.execute(text).fetchall()] == highest
    assert ls.last_pruning()[0].files_read == 3
