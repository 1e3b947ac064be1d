"""The examples in docstrings of public names do what they say, without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from tests.docstrings import PUBLIC, TABLE, needs_spark, run, table_without_spark

import lakesieve as ls

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the table in its subfolder ``warehouse``."""
    folder = tmp_path_factory.mktemp("examples")
    table_without_spark(folder)
    return folder


@pytest.mark.parametrize("name", sorted(name for name in PUBLIC if not needs_spark(name)))
def test_examples(warehouse: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The examples of a public name that take no session print what they say."""
    monkeypatch.chdir(warehouse)
    lake = ls.connect(warehouse="warehouse")
    orders = lake.table("shop.orders")
    names = {"ls": ls, "pl": pl, "pa": pa, "pc": pc, "duckdb": duckdb, "lake": lake}

    told = run(name, names | {"orders": orders, "index": ls.open_index(TABLE, "customer")})

    assert told == ""
