"""A catalog and its tables as objects, without Spark: what the functions say, said once."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pyarrow.compute as pc
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from tests.docstrings import TABLE, table_without_spark

import lakesieve as ls
from lakesieve.errors import ErrorKind, InvalidInputError, NotFoundError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SAID_ONCE = {"spark", "location", "catalog", "warehouse", "timezone"}
FUNCTIONS: dict[str, tuple[Callable[..., Any], str]] = {
    # by method: the function, and the parameter that names the table
    **{name: (getattr(ls, name), "table") for name in ("create_index", "create_indexes")},
    **{name: (getattr(ls, name), "table") for name in ("find_files", "trade_offs", "status")},
    **{name: (getattr(ls, name), "table") for name in ("upsert", "delete", "insert_new")},
    **{name: (getattr(ls, name), "table") for name in ("duplicates", "check_unique")},
    "repair_index": (ls.repair_index, "table"),
    "index": (ls.open_index, "table"),
    "indexes": (ls.list_indexes, "table"),
    "refresh": (ls.refresh_indexes, "table"),
    "check_references": (ls.check_references, "child"),
    "advise": (ls.advise, "tables"),
    "clone": (ls.clone_table, "table"),
    "deletes.status": (ls.deletes.status, "table"),
    "deletes.read": (ls.deletes.read, "table"),
    "deletes.convert": (ls.deletes.convert, "table"),
}
BY_SPARK: dict[str, Callable[[ls.Table], object]] = {
    "create_index": lambda table: table.create_index("id"),
    "create_indexes": lambda table: table.create_indexes(["id"]),
    "refresh": lambda table: table.refresh(),
    "trade_offs": lambda table: table.trade_offs("id"),
    "upsert": lambda table: table.upsert("rows.parquet", on="id"),
    "delete": lambda table: table.delete("keys.csv", on="id"),
    "insert_new": lambda table: table.insert_new("rows.parquet", on="id"),
    "duplicates": lambda table: table.duplicates("id"),
    "check_unique": lambda table: table.check_unique("id"),
    "check_references": lambda table: table.check_references("id", table, "id"),
    "status": lambda table: table.status(),
    "advise": lambda table: table.advise(queries=["q.sql"]),
    "clone": lambda table: table.clone("lake.shop.copy"),
    "deletes.status": lambda table: table.deletes.status(),
    "deletes.read": lambda table: table.deletes.read(),
    "deletes.convert": lambda table: table.deletes.convert(),
    "index.refresh": lambda table: table["id"].refresh(),
    "index.verify_rows": lambda table: table["id"].verify_rows(),
    "index.locate": lambda table: table["id"].locate([1]),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the table in ``warehouse``, and with the SQL catalog ``c.db``."""
    made = tmp_path_factory.mktemp("tables")
    table_without_spark(made)
    return made


@pytest.fixture
def lake(folder: Path) -> ls.Lake:
    """The embedded catalog."""
    return ls.connect(warehouse=str(folder / "warehouse"))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_methods_take_what_functions_take(name: str) -> None:
    """Same names, kinds and defaults, without the table and what was said once."""
    function, table = FUNCTIONS[name]
    owner = ls.TableDeletes if name.startswith("deletes.") else ls.Table
    method = inspect.signature(getattr(owner, name.rpartition(".")[2])).parameters
    wanted = {
        key: parameter
        for key, parameter in inspect.signature(function).parameters.items()
        if key not in SAID_ONCE | {table}
    }

    assert set(method) - {"self"} == set(wanted)
    for key, parameter in wanted.items():
        assert method[key].kind == parameter.kind
        # of options that are passed on, the function has the default
        assert method[key].default in {parameter.default, ...}


def test_methods_equal_functions(lake: ls.Lake, folder: Path) -> None:
    """A table that was opened once answers as the functions that are told all each time."""
    reach: dict[str, Any] = {"warehouse": str(folder / "warehouse")}
    orders = lake.table("shop.orders")

    assert orders.find_files("id < 5") == ls.find_files(TABLE, "id < 5", **reach)
    assert orders.indexes() == ls.list_indexes(TABLE, **reach)
    opened: ls.Index = ls.open_index(TABLE, "id", **reach)
    assert orders.index("id").info() == opened.info()
    assert orders.repair_index("id") == ls.repair_index(TABLE, "id", **reach)


@pytest.mark.parametrize("name", BY_SPARK)
def test_what_needs_spark_says_so(lake: ls.Lake, name: str) -> None:
    """The error names the table and the next step; nothing is started."""
    with pytest.raises(UnsupportedError) as caught:
        BY_SPARK[name](lake.table("shop.orders"))

    assert caught.value.kind == ErrorKind.UNSUPPORTED_SESSION
    assert TABLE in caught.value.message
    assert f'ls.table("{TABLE}", spark=ls.local_session())' in caught.value.hint


def test_names_of_tables(lake: ls.Lake, folder: Path) -> None:
    """The catalog's name may be left out; a location is what it is, and a typo is not found."""
    assert lake.table("shop.orders").name == lake[TABLE].name == TABLE
    path = folder / "warehouse" / "shop" / "orders"
    assert lake.table(f"iceberg:{path}").find_files("id = 1").total == 10
    assert ls.table(TABLE, warehouse=str(folder / "warehouse")).location.endswith(str(path))
    with pytest.raises(NotFoundError):
        lake.table("shop.order")


def test_a_catalog_of_pyiceberg(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A catalog of PyIceberg's configuration lists and opens its tables, and takes its objects."""
    monkeypatch.setenv("PYICEBERG_CATALOG__C__URI", f"sqlite:///{folder}/c.db")
    monkeypatch.setenv("PYICEBERG_CATALOG__C__WAREHOUSE", str(folder / "warehouse"))
    lake = ls.connect(catalog="c")
    loaded = SqlCatalog("c", uri=f"sqlite:///{folder}/c.db").load_table("shop.orders")

    assert [(t.name, t.indexes) for t in lake.tables()] == [("c.shop.orders", ("customer", "id"))]
    assert len(lake.table("shop.orders").find_files("customer = 4711").paths) == 1
    assert ls.table(loaded).find_files("customer = 4711").total == 10


@pytest.mark.parametrize(
    "given",
    [
        {"warehouse": "w", "catalog": "c"},
        {"warehouse": "w", "spark": object()},
        {"timezone": "UTC", "spark": object()},
    ],
    ids=" and ".join,
)
def test_contradictions_are_refused(given: dict[str, Any]) -> None:
    """A session has its own warehouse and time zone, and one catalog is meant."""
    with pytest.raises(InvalidInputError):
        ls.connect(**given)


def test_tables_that_cannot_be_opened_are_listed(tmp_path: Path) -> None:
    """A folder that only looks like a table is in the list, with the reason."""
    (tmp_path / "shop" / "broken" / "metadata").mkdir(parents=True)
    lake = ls.connect(warehouse=str(tmp_path))

    (found,) = lake.tables()

    assert (found.name, found.format, found.indexes) == ("lake.shop.broken", None, ())
    assert "no metadata" in str(found.error)
    assert "unknown" in repr(lake.tables())


def test_a_notebook_shows_and_completes(lake: ls.Lake) -> None:
    """Names complete in brackets, methods after a dot; the pages name tables and indexes."""
    orders = lake["shop.orders"]

    assert lake._ipython_key_completions_() == [TABLE]
    assert orders._ipython_key_completions_() == ["customer", "id"]
    assert orders["id"].name == "id"
    assert {"scan_polars", "upsert", "deletes"} <= set(dir(orders))
    assert "customer, id" in lake._repr_html_()
    assert TABLE in orders._repr_html_()
    assert "customer" in orders._repr_html_()
    assert repr(orders) == f"<Table {TABLE}: iceberg, without Spark>"


def test_contains_picks_an_index(lake: ls.Lake) -> None:
    """The index that begins with the columns answers; without one the error says what to do."""
    orders = lake.table("shop.orders")

    assert orders.contains([4711, 99_999], on="customer").absent.to_pylist() == [False, True]
    assert orders.contains([5, -5], on=["id"], confirm=True).absent.to_pylist() == [False, True]
    with pytest.raises(NotFoundError, match="begins with tenant"):
        orders.contains([1], on="tenant")


def test_engines_read_the_same_rows(lake: ls.Lake) -> None:
    """Polars, DuckDB and Arrow find the row in one of ten files, each by the table's method."""
    orders = lake.table("shop.orders")
    con = duckdb.connect()
    rows = orders.to_duckdb(con)
    by_arrow = orders.to_arrow_dataset()
    questions: list[Callable[[], int]] = [
        lambda: orders.scan_polars().filter(pl.col("customer") == 4711).collect().height,
        lambda: by_arrow.to_table(filter=pc.field("customer") == 4711).num_rows,
        lambda: len(rows.filter("customer = 4711").fetchall()),
    ]

    for question in questions:
        assert question() == 1
        (scan,) = lake.last_pruning()
        assert (scan.files_total, scan.files_read) == (10, 1)


def test_explain_names_lakesieve(lake: ls.Lake) -> None:
    """Polars has a place for it. DuckDB names a scan of Arrow, and the filter that it got."""
    orders = lake.table("shop.orders")
    plan = orders.scan_polars().filter(pl.col("customer") == 4711).explain()
    explained = orders.to_duckdb(duckdb.connect()).filter("customer = 4711").explain()

    assert f"PYTHON[lakesieve {TABLE}] SCAN" in plan
    assert "ls.last_pruning() counts them" in plan
    assert "ARROW_SCAN" in explained
    assert "4711" in explained


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Cloned", ls.CloneResult),
        ("Compacted", ls.CompactionResult),
        ("Contained", ls.KeyPresence),
        ("ContainedRows", ls.KeyPresenceRows),
        ("Refreshed", ls.RefreshResult),
    ],
)
def test_old_names_still_work(old: str, new: type) -> None:
    """They are the same classes, with a warning that names the new one."""
    with pytest.warns(DeprecationWarning, match=f"{old} is now {new.__name__}"):
        assert getattr(ls, old) is new
    assert old not in ls.__all__
