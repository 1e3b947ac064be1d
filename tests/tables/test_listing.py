"""Tables of a catalog, listed without an engine: names that open the tables again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog

from lakesieve.tables.listing import table_names
from lakesieve.tables.names import parse_name
from lakesieve.tables.opening import open_table

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

SCHEMA = pa.schema([("id", pa.int64())])


def test_a_catalog_of_pyiceberg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of all namespaces, also of those inside others."""
    uri = f"sqlite:///{tmp_path}/c.db"
    for name, value in (("URI", uri), ("TYPE", "sql"), ("WAREHOUSE", str(tmp_path))):
        monkeypatch.setenv(f"PYICEBERG_CATALOG__SHOP__{name}", value)
    catalog = SqlCatalog("shop", uri=uri, warehouse=str(tmp_path))
    for namespace in ("a", "a.b", "empty"):
        catalog.create_namespace(namespace)
    for table in ("a.t", "a.b.u"):
        catalog.create_table(table, schema=SCHEMA)

    names = table_names(catalog="shop")

    assert names == ["shop.a.b.u", "shop.a.t"]
    assert [open_table(name, catalog="shop").columns for name in names]


def test_the_embedded_warehouse(tmp_path: Path) -> None:
    """Folders with metadata at any depth; hidden folders and folders of no table are left out."""
    for folder in ("db/t", "db/x y", "a/b/c", "_spark/t", ".tmp/t", "db/empty/data"):
        (tmp_path / folder / "metadata").mkdir(parents=True)
    (tmp_path / "db" / "empty" / "data" / "metadata").rmdir()
    for file in tmp_path.rglob("metadata"):
        (file / "v1.metadata.json").write_text("{}")

    names = table_names(warehouse=str(tmp_path))

    assert names == ["lake.a.b.c", "lake.db.`x y`", "lake.db.t"]
    assert parse_name(names[1]).identifier() == ("lake", "db", "x y")


def test_a_warehouse_that_is_not_there_is_empty(tmp_path: Path) -> None:
    """Nothing was written yet."""
    assert table_names(warehouse=str(tmp_path / "nowhere")) == []
