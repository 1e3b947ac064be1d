"""The tutorial does what it says, block after block."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import lakesieve as ls
from lakesieve.storage import local_path

if TYPE_CHECKING:
    import pytest
    from pyspark.sql import SparkSession

PAGE = Path(__file__).parents[2] / "docs" / "tutorial.md"
TABLE = "lake.shop.orders"


def test_every_block_runs(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Every block runs in the session of the tests."""
    warehouse = str(spark.conf.get("spark.sql.catalog.lake.warehouse"))
    (tmp_path / "warehouse").symlink_to(local_path(warehouse))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ls, "local_session", lambda **_: spark)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 6
    names: dict[str, object] = {}
    try:
        for number, block in enumerate(blocks):
            exec(compile(block, f"block {number}", "exec"), names)
    finally:
        ls.disable(spark)
        spark.sql(f"DROP TABLE IF EXISTS {TABLE} PURGE")
    printed = capsys.readouterr().out
    # one file of a hundred, by Spark and without it
    assert re.search(r"\nlake\.shop\.orders +100 +1 +0 +customer ", printed)
    assert "\n2 of 100\n" in printed
    assert re.search(r"updated +1 row", printed)
    assert re.search(r"\ncustomer +0 ", printed)
