"""The examples of the guides do what they say."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from tests.engines.tables import index_of

from lakesieve.engines import pyiceberg as engine
from lakesieve.tables.opening import open_table

DOCS = Path(__file__).parents[2] / "docs"


def _examples(page: str) -> str:
    """Return the examples of a page, one after the other."""
    text = (DOCS / page).read_text(encoding="utf-8")
    found = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert found
    return "\n".join(found)


@pytest.mark.parametrize("page", ["pyiceberg.md", "polars.md", "duckdb.md"])
def test_examples(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    page: str,
) -> None:
    """The first example of each page finds its row in one of many files, and the others run."""
    properties = {"uri": f"sqlite:///{tmp_path}/c.db", "warehouse": str(tmp_path / "data")}
    catalog = SqlCatalog("shop", **properties)
    monkeypatch.setattr("pyiceberg.catalog.load_catalog", lambda _: catalog)
    catalog.create_namespace("db")
    schema = pa.schema([("customer", pa.int64()), ("id", pa.int64())])
    table = catalog.create_table("db.orders", schema=schema)
    for file in range(5):
        customers = pa.array([1, 9999, 4711 if file == 3 else 5])
        table.append(pa.table({"customer": customers, "id": customers}))
    index_of(open_table(table), "customer", covers=lambda _: True)

    try:
        exec(compile(_examples(page), page, "exec"), {})
    finally:
        engine.disable()

    printed = capsys.readouterr().out
    assert re.match(r"1\ntable +files +read .*\n\S*db\.orders +5 +1 ", printed)
