"""The code blocks of the documentation do what they say, page by page, on tables of their names."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow.compute as pc
import pytest
from tests.doc_blocks import PAGES, blocks_of
from tests.spark.advisor.logs import logged
from typer.testing import CliRunner

import lakesieve as ls
from lakesieve.cli.app import build_app
from lakesieve.storage import local_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

ORDERS, CUSTOMERS, LINES = "lake.shop.orders", "lake.shop.customers", "lake.tpch.lineitem"
HERE = "tests/spark/test_doc_blocks.py"
# they take longest, and what they call is tested command by command
IN_SOAK = ("docs/cli.md", "docs/keys.md")
MINE = [page for page, test in PAGES.items() if test == HERE]
MAINTAINED = f"""
[tables."{ORDERS}"]
indexes = [["order_id"], {{ columns = ["tenant", "time"], name = "by_tenant", budget = "2 bits" }}]
"""


@pytest.fixture
def place(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the files that the pages name, beside the warehouse with their tables."""
    warehouse = local_path(str(spark.conf.get("spark.sql.catalog.lake.warehouse")))
    (tmp_path / "warehouse").symlink_to(warehouse)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ls, "local_session", lambda **_: spark)
    monkeypatch.setattr("lakesieve.cli.session.start_session", lambda *_, **__: spark)
    _tables(spark)
    changed = spark.table(ORDERS).limit(3)
    changed.write.parquet(str(tmp_path / "changed.parquet"))
    arrivals = changed.selectExpr("order_id + 5000000 AS order_id", "* EXCEPT (order_id)")
    arrivals.write.parquet(str(tmp_path / "arrivals.parquet"))
    (tmp_path / "arrivals.csv").write_text("order_id\n17\n4711000\n")
    (tmp_path / "erased.csv").write_text("customer\n4\n5\n")
    (tmp_path / "lakesieve.toml").write_text(MAINTAINED)
    (tmp_path / "dashboards.sql").write_text(f"SELECT * FROM {LINES} WHERE l_orderkey = 5;\n")
    with logged(spark, tmp_path / "spark-events", compress="false"):
        spark.sql(f"SELECT * FROM {LINES} WHERE l_partkey = 7").collect()
    try:
        yield tmp_path
    finally:
        ls.disable(spark)
        for table in (ORDERS, CUSTOMERS, LINES, "lake.shop.events"):
            spark.sql(f"DROP TABLE IF EXISTS {table} PURGE")
        for table in ("lake.tpch.lineitem_test", "lake.test.lineitem"):
            spark.sql(f"DROP TABLE IF EXISTS {table}")


def _tables(spark: SparkSession) -> None:
    """The tables, each of ten files."""
    for name in ("shop", "tpch", "test"):
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS lake.{name}")
    rows = {
        ORDERS: "id AS order_id, id * 7919 % 10007 AS customer, id % 3 AS tenant, 'new' AS status,"
        " DATE'2026-01-31' AS day, TIMESTAMP'2026-01-31 00:00:00' AS time, id",
        CUSTOMERS: "id",
        LINES: "id * 7 % 1009 AS l_orderkey, id % 200 AS l_partkey, id % 10 AS l_suppkey,"
        " date_add(DATE'1998-01-01', CAST(id % 100 AS INT)) AS l_shipdate",
        "lake.shop.events": "id % 3 AS tenant, TIMESTAMP'2026-01-31 00:00:00' AS time",
    }
    for table, columns in rows.items():
        spark.sql(f"DROP TABLE IF EXISTS {table} PURGE")
        frame = spark.range(0, 10_010, 1, 10).selectExpr(*_split(columns))
        writer = frame.writeTo(table).using("iceberg")
        writer.tableProperty("write.distribution-mode", "none").create()
    spark.sql(f"ALTER TABLE {LINES} CREATE TAG audited")


def _split(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for at, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    return [*parts, text[start:].strip()]


def _names(spark: SparkSession, place: Path) -> dict[str, Any]:
    """What the pages take as given."""
    orders = spark.table(ORDERS)
    orders.createOrReplaceTempView("orders")
    spark.createDataFrame(
        [(4711, "AT"), (17, "DE")], "id BIGINT, country STRING"
    ).createOrReplaceTempView("suspects")
    changed = orders.limit(3)
    few = [row.order_id for row in orders.limit(2).collect()]
    return {
        "ls": ls,
        "spark": spark,
        "pl": pl,
        "pc": pc,
        "changed": changed,
        "batch": changed,
        "erased": spark.createDataFrame([(4,), (5,)], "customer BIGINT"),
        "arrivals": changed.selectExpr("order_id + 5000000 AS order_id", "* EXCEPT (order_id)"),
        "customers": spark.createDataFrame([(4,), (99_999,)], "customer BIGINT"),
        "keys": [*few, -1],
        "index": ls.open_index(ORDERS, "order_id", spark=spark),
    }


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.soak] * (page in IN_SOAK)) for page in MINE],
)
def test_page(spark: SparkSession, place: Path, page: str) -> None:
    """Each block of the page that is not marked, in order."""
    run = [block for block in blocks_of(page) if block.is_run]
    assert run
    names: dict[str, Any] = {}
    if page != "README.md":
        ls.create_indexes(ORDERS, [["order_id"], ["customer"]], spark=spark)
        names = _names(spark, place)
    for block in run:
        if block.language == "python":
            exec(compile(block.text, page, "exec"), names)
        elif block.language == "sql":
            for statement in filter(str.strip, block.text.split(";")):
                spark.sql(statement).collect()
        else:
            for line in block.text.splitlines():
                _command(line)


def _command(line: str) -> None:
    words = shlex.split(line, comments=True)
    assert words[0] == "lakesieve"
    # the JVM of the tests runs in another folder
    words = [str(Path(word).resolve()) if Path(word).exists() else word for word in words]
    done = CliRunner().invoke(build_app(), words[1:])
    assert done.exit_code == 0, f"{line}\n{done.output}"
    if "--json" in words:
        assert json.loads(done.stdout) is not None
