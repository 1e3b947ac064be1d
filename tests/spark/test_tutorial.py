"""The tutorial prints what it shows, block after block."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.doc_outputs import comparable, expected_of, printed_by

import lakesieve as ls
from lakesieve.storage import local_path

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGE = Path(__file__).parents[2] / "docs" / "tutorial.md"
TABLE = "lake.shop.orders"


# the files that a commit writes are those of Spark's default settings
@pytest.mark.usefixtures("by_default")
def test_every_block_prints_what_follows_it(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the session of the tests, whose warehouse is where the page has its own."""
    warehouse = local_path(str(spark.conf.get("spark.sql.catalog.lake.warehouse")))
    (tmp_path / "warehouse").symlink_to(warehouse)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ls, "local_session", lambda **_: spark)
    blocks = expected_of(PAGE)
    names: dict[str, object] = {}
    try:
        printed = [printed_by(code, names, f"block {n}") for n, (code, _) in enumerate(blocks)]
    finally:
        ls.disable(spark)
        spark.sql(f"DROP TABLE IF EXISTS {TABLE} PURGE")
    assert [comparable(text, str(warehouse)) for text in printed] == [
        comparable(output) for _, output in blocks
    ]
    assert sum(bool(output) for _, output in blocks) == 5
