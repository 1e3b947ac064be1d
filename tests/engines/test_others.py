"""Daft through PyIceberg, and DataFusion through a dataset: their own rows, from fewer files."""

from __future__ import annotations

import random
import re
from functools import partial
from operator import ne
from typing import TYPE_CHECKING, Any

import daft
import pyarrow as pa
import pytest
from datafusion import SessionContext
from pyiceberg.catalog.sql import SqlCatalog
from tests.depth import depth
from tests.engines.tables import COLUMNS, index_of, rows

from lakesieve.engines import arrow
from lakesieve.engines import pyiceberg as engine
from lakesieve.tables.opening import open_table

if TYPE_CHECKING:
    from pathlib import Path

    from pyiceberg.table import Table

FILES, ROWS = 6, 10
QUESTIONS = depth("QUESTIONS", test=20, soak=1000)
KEYS = ("id", "small", "text", "real", "day")


@pytest.fixture
def parts() -> list[pa.Table]:
    """The rows of the files of a table."""
    drawn = random.Random("others")
    return [rows(drawn, ROWS) for _ in range(FILES)]


@pytest.fixture
def table(tmp_path: Path, parts: list[pa.Table]) -> Table:
    """A table with indexes on some columns, one of which does not know all files."""
    catalog = SqlCatalog("shop", uri=f"sqlite:///{tmp_path}/c.db", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    made = catalog.create_table("db.t", schema=pa.schema(list(COLUMNS.items())))
    for part in parts:
        made.append(part)
    reader = open_table(made)
    unknown = str(reader.live_files(reader.version()).column("path")[0])
    for column in KEYS:
        left_out = unknown if column == "id" else ""
        index_of(reader, column, covers=partial(ne, left_out))
    return made


def _condition(drawn: random.Random, depth: int = 0) -> str:
    """A condition in SQL as both libraries read it."""
    if depth < 2 and drawn.random() < 0.4:
        inner = [_condition(drawn, depth + 1) for _ in range(2)]
        return f"({drawn.choice([' AND ', ' OR ']).join(inner)})"
    column = drawn.choice(KEYS)
    if drawn.random() < 0.2:
        return f"{column} IS {drawn.choice(['', 'NOT '])}NULL"
    op = drawn.choice(["=", "<", ">=", "<>"])
    match column:
        case "text":
            value = drawn.choice(["''", "'a'", "'ä'", "'日本b'", "'zz'"])
        case "day":
            value = f"DATE '{drawn.choice(['2000-01-01', '2001-02-04', '1995-01-01'])}'"
        case "real":
            value = drawn.choice(["0.0", "1.5", "-2.25", "0.1"])
        case _:
            value = str(drawn.randrange(-20, 20))
    if op == "=" and column in {"id", "small"}:
        return f"{column} IN ({value}, {drawn.randrange(-20, 20)})"
    return f"{column} {op} {value}"


def _sorted(found: dict[str, list[Any]]) -> list[str]:
    return sorted(map(repr, zip(*found.values(), strict=True)))


def test_datafusion(table: Table, parts: list[pa.Table]) -> None:
    """Conditions that are pushed into a dataset, and those that are not, give the same rows."""
    drawn = random.Random("datafusion")
    context = SessionContext()
    context.register_dataset("sieved", arrow.dataset(table))
    context.register_record_batches("whole", [pa.concat_tables(parts).to_batches()])
    total = read = 0
    for _ in range(QUESTIONS):
        text = f"SELECT id, text, real, day FROM {{}} WHERE {_condition(drawn)}"
        # DataFusion's own NaN is larger than all numbers, that of a dataset is not
        own = re.sub(r"real >= (\S+?)(?=\)|$| )", r"(real >= \1 AND NOT isnan(real))", text)
        expected = context.sql(own.format("whole")).to_pydict()
        assert _sorted(context.sql(text.format("sieved")).to_pydict()) == _sorted(expected), text
        (pruned,) = arrow.last_pruning()
        total, read = total + pruned.files_total, read + pruned.files_read
    assert 0 < read < total
    # which DataFusion finds to be false, and pushes as a value
    never = "day = DATE '2001-02-04' AND (day = DATE '1995-01-01' AND day = DATE '2001-02-04')"
    assert context.sql(f"SELECT id FROM sieved WHERE {never}").to_pydict() == {"id": []}
    assert context.sql("SELECT count(*) n FROM sieved").to_pydict() == {"n": [FILES * ROWS]}


def test_daft(table: Table) -> None:
    """With skipping on, Daft's scans read fewer files and give the rows that they give without."""
    drawn = random.Random("daft")
    total = read = 0
    for _ in range(QUESTIONS):
        condition = _condition(drawn)
        frame = daft.read_iceberg(table).where(daft.sql_expr(condition)).select("id", "text", "day")
        plain = frame.to_pydict()
        engine.enable()
        try:
            sieved = daft.read_iceberg(table).where(daft.sql_expr(condition))
            found = sieved.select("id", "text", "day").to_pydict()
            (pruned,) = engine.last_pruning()
        finally:
            engine.disable()
        assert _sorted(found) == _sorted(plain), condition
        total, read = total + pruned.files_total, read + pruned.files_read
    assert 0 < read < total
