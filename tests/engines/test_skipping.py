"""Each engine without a JVM skips files: for every format, type of key and form of condition."""

from __future__ import annotations

import itertools
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import deltalake
import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyiceberg.expressions
import pytest
from packaging.version import Version
from pyiceberg.catalog.sql import SqlCatalog
from tests.depth import is_soak
from tests.kit.building import build_index
from tests.skipping import CONDITIONS, FILES, KEYS, part

import lakesieve as ls
from lakesieve.engines import arrow
from lakesieve.engines import duckdb as duckdb_engine
from lakesieve.engines import polars as polars_engine
from lakesieve.engines import pyiceberg as pyiceberg_engine
from lakesieve.index import ReasonCode
from lakesieve.tables.opening import open_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

# PyIceberg's types leave out that names are taken for columns
ice: Any = pyiceberg.expressions
_COMPARED = ("=", "in", "between", "<", ">", "or", "and", "not")
_NAN = "NaN is the greatest number in DuckDB, which so keeps lower bounds of floats to itself"
# cells in which an engine hands over nothing that an index could answer, with the reason
NOT_HANDED_OVER = {
    **{("duckdb", form, name): _NAN for form in ("between", ">") for name in ("real", "single")},
    **{
        ("duckdb", form, "text"): "DuckDB evaluates LIKE and starts_with itself"
        for form in ("prefix", "starts")
    },
    **{("duckdb", form, "token"): "DuckDB compares UUIDs itself" for form in _COMPARED},
    ("duckdb", "alone", "flag"): "DuckDB evaluates a column that stands alone itself",
    **{("arrow", form, "token"): "Arrow cannot compare UUIDs" for form in _COMPARED},
}
if Version(duckdb.__version__) < Version("2"):
    handed_over = [("prefix", "text"), *itertools.product(("between", ">"), ("real", "single"))]
    for _form, _name in handed_over:
        del NOT_HANDED_OVER["duckdb", _form, _name]
    NOT_HANDED_OVER |= {
        **{("duckdb", form, "money"): "DuckDB 1 compares decimals itself" for form in _COMPARED},
        **{("duckdb", "null", name): "DuckDB 1 evaluates IS NULL itself" for name in KEYS},
    }
# older versions of Arrow do not hand over starts_with: such a filter reads more files
_NOT_IN_SUBSTRAIT = ("prefix", "starts") if Version(pa.__version__) < Version("23") else ()
_SHORT = ("=", "in", "<", "prefix", "null")


def _iceberg(folder: Path, parts: Sequence[pa.Table]) -> Any:
    catalog = SqlCatalog("c", uri=f"sqlite:///{folder}/c.db", warehouse=str(folder / "d"))
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", schema=parts[0].schema)
    with table.transaction() as transaction:
        for rows in parts:
            transaction.append(rows)
    return table


def _delta(folder: Path, parts: Sequence[pa.Table]) -> str:
    for rows in parts:
        deltalake.write_deltalake(str(folder), rows, mode="append")
    return f"delta:{folder}"


def _parquet(folder: Path, parts: Sequence[pa.Table]) -> str:
    for file, rows in enumerate(parts):
        pq.write_table(rows, folder / f"{file}.parquet")
    return f"parquet:{folder}"


# each writes a table with a data file of each part
WRITERS: dict[str, Callable[[Path, Sequence[pa.Table]], Any]] = {
    "iceberg": _iceberg,
    "delta": _delta,
    "parquet": _parquet,
}


@cache
def _column(name: str, path: str) -> pa.Array:
    file = path.removeprefix("file:").partition("#")[0]
    held = pq.read_table(file, columns=[name]).column(name).combine_chunks()
    if held.type == pa.uuid():
        # as Spark reads them
        return pa.array([None if value is None else str(value) for value in held.to_pylist()])
    return held


@pytest.fixture(scope="module", params=list(WRITERS))
def table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A table of a format with an index on each column."""
    names = [name for name in KEYS if name != "token" or request.param == "iceberg"]
    parts = [part(file, names) for file in range(FILES)]
    made = WRITERS[request.param](tmp_path_factory.mktemp(request.param), parts)
    opened = open_table(made)
    for name in names:
        build_index(opened, name, partial(_column, name))
    return made


def _cells(table: Any) -> Iterator[tuple[str, str]]:
    """Forms of conditions with the columns that they are for."""
    is_iceberg = not isinstance(table, str)
    for form, condition in CONDITIONS.items():
        # the formats differ in their types for text and bytes, not in forms of conditions
        if is_iceberg or is_soak() or form in _SHORT:
            yield from (
                (form, n) for n in KEYS if n in condition.keys and (n != "token" or is_iceberg)
            )


def _check(engine: str, read: Callable[[str, str], int], table: Any) -> None:
    """Demand of each cell that it reads no more files than it must.

    Args:
        engine: Which engine.
        read: Runs a condition, by its form and column; tells how many files were read.
        table: The table.
    """
    wrong = {}
    for form, name in _cells(table):
        if engine == "arrow" and form in _NOT_IN_SUBSTRAIT:
            continue
        most = CONDITIONS[form].most
        if (engine, form, name) in NOT_HANDED_OVER:
            # all of them: an engine that begins to hand it over changes the table above
            most = FILES
        files = read(form, name)
        if files > most or (most == FILES and files < FILES):
            wrong[form, name] = files
    assert wrong == {}


def _arrow_filter(form: str, name: str) -> Any:
    key, field = KEYS[name], pc.field(name)

    def at(number: int) -> pa.Scalar:
        return pa.scalar(key.value(number), key.kind)

    match form:
        case "in":
            return field.isin(pa.array([key.value(22), key.value(25)], key.kind))
        case "prefix":
            return pc.starts_with(field, "k25")
        case "starts":
            return pc.starts_with(field, "k25") & (pc.field("small") >= 0)
        case "alone":
            return field
        case "null":
            return field.is_null()
    return _compared(form, field, at, pc.field("small") >= pa.scalar(0, pa.int32()))


def _compared(form: str, field: Any, at: Callable[[int], Any], other: Any) -> Any:
    """A comparison in the operators that Arrow and Polars share."""
    match form:
        case "=":
            return field == at(25)
        case "between":
            return (field >= at(24)) & (field <= at(26))
        case "<":
            return field <= at(1)
        case ">":
            return field >= at(58)
        case "or":
            return (field == at(22)) | (field == at(25))
        case "and":
            return (field == at(25)) & other
        case "not":
            return ~(field != at(25))
    raise NotImplementedError(form)


def _polars_filter(form: str, name: str) -> pl.Expr:
    key, column = KEYS[name], pl.col(name)

    def value(number: int) -> Any:
        found = key.value(number)
        # Polars has UUIDs as bytes
        return found.bytes if name == "token" else found

    match form:
        case "in":
            values = [value(22), value(25)]
            if name == "money" and Version(pl.__version__) < Version("2"):
                # Polars 1 refuses a list of decimals of another precision than the column
                either: pl.Expr = (column == values[0]) | (column == values[1])
                return either
            return column.is_in(values)
        case "between":
            return column.is_between(pl.lit(value(24)), pl.lit(value(26)))
        case "prefix":
            return column.str.starts_with("k25")
        case "starts":
            return column.str.starts_with("k25") & (pl.col("small") >= 0)
        case "alone":
            return column
        case "null":
            return column.is_null()
    found: pl.Expr = _compared(form, column, lambda n: pl.lit(value(n)), pl.col("small") >= 0)
    return found


def _iceberg_filter(form: str, name: str) -> Any:
    value = KEYS[name].value
    match form:
        case "=" | "alone":
            return ice.EqualTo(name, value(25))
        case "in":
            return ice.In(name, [value(22), value(25)])
        case "between":
            low, high = value(24), value(26)
            return ice.And(ice.GreaterThanOrEqual(name, low), ice.LessThanOrEqual(name, high))
        case "<":
            return ice.LessThanOrEqual(name, value(1))
        case ">":
            return ice.GreaterThanOrEqual(name, value(58))
        case "or":
            return ice.Or(ice.EqualTo(name, value(22)), ice.EqualTo(name, value(25)))
        case "and":
            return ice.And(ice.EqualTo(name, value(25)), ice.GreaterThanOrEqual("small", 0))
        case "not":
            return ice.Not(ice.NotEqualTo(name, value(25)))
        case "prefix" | "starts":
            return ice.StartsWith(name, "k25")
    return ice.IsNull(name)


def _files_read() -> int:
    (pruned,) = ls.last_pruning()
    return pruned.files_read


def test_arrow(table: Any) -> None:
    """A dataset opens the files of a filter alone, and gives its rows."""
    dataset = arrow.dataset(table)

    def read(form: str, name: str) -> int:
        if ("arrow", form, name) in NOT_HANDED_OVER:
            with pytest.raises((pa.ArrowNotImplementedError, pa.ArrowTypeError)):
                dataset.to_table(["small"], filter=_arrow_filter(form, name))
            return FILES
        rows = dataset.to_table(["small"], filter=_arrow_filter(form, name))
        assert rows.num_rows == len(CONDITIONS[form].numbers), (form, name)
        return _files_read()

    _check("arrow", read, table)


def test_duckdb(table: Any) -> None:
    """DuckDB's own SQL opens the files of a condition alone, and gives its rows."""
    con = duckdb.connect()
    con.execute("SET timezone = 'UTC'")
    duckdb_engine.relation(con, table).create_view("t")

    def read(form: str, name: str) -> int:
        text = CONDITIONS[form].text(name, "duckdb").replace("startswith", "starts_with")
        rows = con.execute(f"SELECT small FROM t WHERE {text}").fetchall()
        assert len(rows) == len(CONDITIONS[form].numbers), (form, name)
        return _files_read()

    _check("duckdb", read, table)


def test_polars(table: Any) -> None:
    """A LazyFrame opens the files of a filter alone, and gives its rows."""
    frame = polars_engine.scan(table)

    def read(form: str, name: str) -> int:
        rows = frame.filter(_polars_filter(form, name)).select("small").collect()
        assert rows.height == len(CONDITIONS[form].numbers), (form, name)
        return _files_read()

    _check("polars", read, table)


def test_pyiceberg(table: Any) -> None:
    """PyIceberg plans the files of a filter alone."""
    if isinstance(table, str):
        pytest.skip("PyIceberg reads Iceberg tables")

    def read(form: str, name: str) -> int:
        planned = pyiceberg_engine.scan(table, row_filter=_iceberg_filter(form, name)).plan_files()
        return len(list(planned))

    _check("pyiceberg", read, table)


# words do not depend on the format
@pytest.mark.in_time(
    *(f"iceberg-{words}" for words in ("sql", "polars", "arrow", "pyiceberg")),
    *("delta-sql", "parquet-sql"),
)
@pytest.mark.parametrize("words", ["sql", "polars", "arrow", "pyiceberg"])
def test_find_files(table: Any, words: str) -> None:
    """The files of SQL text and of the expressions of each library."""
    if words == "pyiceberg" and isinstance(table, str):
        pytest.skip("expressions of PyIceberg are for Iceberg tables")

    def predicate(form: str, name: str) -> Any:
        if words == "sql":
            return CONDITIONS[form].text(name, "spark")
        made = {"polars": _polars_filter, "arrow": _arrow_filter, "pyiceberg": _iceberg_filter}
        return made[words](form, name)

    def read(form: str, name: str) -> int:
        if (words, form, name) in NOT_HANDED_OVER:
            return FILES
        return len(ls.find_files(table, predicate(form, name)).paths)

    _check(words, read, table)


@pytest.mark.parametrize(
    ("predicate", "code"),
    [
        # as Spark makes them of abs(small) = 9, small LIKE '9' and array_contains(array(9), small)
        ("small IS NOT NULL AND abs(small) = 9", ReasonCode.NO_USABLE_PREDICATE),
        ("small IS NOT NULL AND CAST(small AS STRING) = '9'", ReasonCode.NO_USABLE_PREDICATE),
        ("small IS NOT NULL AND array_contains(array(9), small)", ReasonCode.NO_USABLE_PREDICATE),
        ("small IS NOT NULL", ReasonCode.NOT_SELECTIVE),
        ("small IS NOT NULL AND abs(small) = 9 AND large >= 0", ReasonCode.NOT_SELECTIVE),
    ],
)
def test_why_every_file_is_read(table: Any, predicate: str, code: ReasonCode) -> None:
    """What no index answers is told from what every file can hold."""
    found = ls.find_files(table, predicate)

    assert len(found.paths) == FILES
    assert code in {reason.code for reason in found.reasons}
    other = {ReasonCode.NO_USABLE_PREDICATE, ReasonCode.NOT_SELECTIVE} - {code}
    assert not other & {reason.code for reason in found.reasons}


def _nested_part(file: int) -> pa.Table:
    """Return rows of a data file with columns of nested types around a key."""
    numbers = [file, file + 10]
    places = [
        {"zip": number, "lines": [str(number)], "geo": {"lat": float(number)}} for number in numbers
    ]
    place = pa.struct(
        [
            ("zip", pa.int64()),
            ("lines", pa.list_(pa.string())),
            ("geo", pa.struct([("lat", pa.float64())])),
        ]
    )
    visit = pa.struct([("at", pa.int64())])
    columns = {
        "visits": pa.array([[{"at": number}] for number in numbers], pa.list_(visit)),
        "place": pa.array(places, place),
        "small": pa.array(numbers, pa.int64()),
        "tags": pa.array([[("a", {"at": 1})]] * 2, pa.map_(pa.string(), visit)),
    }
    return pa.table(columns)


@pytest.mark.parametrize("format_name", list(WRITERS))
def test_nested_columns_do_not_prevent_skipping(tmp_path: Path, format_name: str) -> None:
    """Files are skipped although columns are structs, lists and maps with ids of their fields."""
    made = WRITERS[format_name](tmp_path, [_nested_part(file) for file in range(10)])
    build_index(open_table(made), "small", partial(_column, "small"))
    build_index(
        open_table(made), "place.zip", lambda path: pc.struct_field(_column("place", path), "zip")
    )
    con = duckdb.connect()
    duckdb_engine.relation(con, made).create_view("t")

    dataset = arrow.dataset(made)
    assert dataset.to_table(filter=pc.field("small") == 13).num_rows == 1
    assert _files_read() == 1
    assert dataset.to_table(filter=pc.field("place", "zip") == 13).num_rows == 1
    assert _files_read() == 1
    assert con.execute("SELECT place.zip FROM t WHERE small = 13").fetchall() == [(13,)]
    assert _files_read() == 1
    assert polars_engine.scan(made).filter(pl.col("small") == 13).collect().height == 1
    assert _files_read() == 1
