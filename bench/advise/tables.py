"""The tables, and the queries that are recorded of them."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from lakesieve.demo.data import TABLE as LINEITEM
from lakesieve.demo.data import prepare_table

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

__all__ = ["LINEITEM", "STORE_SALES", "make", "queries"]

STORE_SALES = "lake.tpcds.store_sales"
_RETURNS = "lake.tpcds.recent_returns"
_FILES = 200
_CUSTOMERS, _ITEMS, _STORES = 100_000, 18_000, 12


def make(spark: SparkSession, folder: Path, scale: float, rows: int) -> None:
    """Write lineitem in order of arrival, and sales in order of days.

    Args:
        spark: The session.
        folder: Where passing data goes.
        scale: TPC-H's scale factor.
        rows: Rows of the sales.
    """
    prepare_table(spark, folder, scale, print)
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.tpcds")
    # a basket has ten rows, of one customer, day and store; promotions are rare and often null
    spark.range(0, rows, 1, _FILES).selectExpr(
        f"CAST(2450816 + id * 1800 DIV {rows} AS INT) AS ss_sold_date_sk",
        f"CAST(pmod(xxhash64(id, 1), {_ITEMS}) + 1 AS INT) AS ss_item_sk",
        "CAST(IF(pmod(xxhash64(id DIV 10, 2), 50) = 0, NULL,"
        f" pmod(xxhash64(id DIV 10, 3), {_CUSTOMERS}) + 1) AS INT) AS ss_customer_sk",
        f"CAST(pmod(xxhash64(id DIV 10, 4), {_STORES}) + 1 AS INT) AS ss_store_sk",
        "CAST(IF(pmod(xxhash64(id, 5), 3) = 0, NULL,"
        " pmod(xxhash64(id, 6), 300)) AS INT) AS ss_promo_sk",
        "xxhash64(id DIV 10, 7) AS ss_ticket_number",
        "CAST(pmod(xxhash64(id, 8), 100) AS INT) AS ss_quantity",
        "CAST(pmod(xxhash64(id, 9), 20000) / 100 AS DECIMAL(7, 2)) AS ss_sales_price",
        "concat('coupon-', lpad(CAST(pmod(xxhash64(id, 10), 400000) AS STRING), 7, '0'))"
        " AS ss_coupon",
    ).writeTo(STORE_SALES).using("iceberg").tableProperty(
        "write.distribution-mode", "none"
    ).create()
    spark.sql(
        f"CREATE TABLE {_RETURNS} USING iceberg AS SELECT ss_ticket_number AS r_ticket, ss_item_sk "
        f"AS r_item FROM {STORE_SALES} WHERE pmod(xxhash64(ss_ticket_number), {rows // 60}) = 0"
    )


def queries(spark: SparkSession) -> list[str]:
    """The statements, by literals that are there, in no order.

    Args:
        spark: The session.
    """
    drawn = random.Random("queries")
    line = spark.table(LINEITEM).sample(0.0005, seed=5).limit(400).collect()
    sale = spark.table(STORE_SALES).sample(0.0005, seed=5).limit(400).collect()
    made = [
        *(f"SELECT * FROM {LINEITEM} WHERE l_orderkey = {r.l_orderkey}" for r in line[:30]),
        *(f"SELECT * FROM {LINEITEM} WHERE l_partkey = {r.l_partkey}" for r in line[30:60]),
        *(
            f"SELECT count(*) FROM {LINEITEM} WHERE l_partkey = {r.l_partkey}"
            f" AND l_suppkey = {r.l_suppkey}"
            for r in line[60:75]
        ),
        *(f"SELECT count(*) FROM {LINEITEM} WHERE l_suppkey = {r.l_suppkey}" for r in line[75:87]),
        *(
            f"SELECT sum(l_quantity) FROM {LINEITEM} WHERE l_receiptdate BETWEEN"
            f" DATE'{r.l_receiptdate}' AND DATE'{r.l_receiptdate}' + INTERVAL 2 DAYS"
            for r in line[87:97]
        ),
        *(
            f"SELECT count(*) FROM {LINEITEM} WHERE l_shipmode = '{r.l_shipmode}'"
            for r in line[97:103]
        ),
        *(
            f"SELECT * FROM {LINEITEM} WHERE l_comment = '{r.l_comment.replace(chr(39), '')}'"
            for r in line[103:113]
        ),
        *(
            f"SELECT count(*) FROM {LINEITEM} WHERE l_extendedprice = {r.l_extendedprice}"
            for r in line[113:123]
        ),
        *(
            f"SELECT * FROM {STORE_SALES} WHERE ss_ticket_number = {r.ss_ticket_number}"
            for r in sale[:25]
        ),
        *(
            f"SELECT sum(ss_sales_price) FROM {STORE_SALES} WHERE ss_customer_sk = "
            f"{r.ss_customer_sk or 1}"
            for r in sale[25:55]
        ),
        *(
            f"SELECT count(*) FROM {STORE_SALES} WHERE ss_customer_sk IN ("
            f"{r.ss_customer_sk or 1}, {r.ss_customer_sk or 2} + 17, 31)"
            for r in sale[55:65]
        ),
        *(
            f"SELECT count(*) FROM {STORE_SALES} WHERE ss_item_sk = {r.ss_item_sk}"
            for r in sale[65:75]
        ),
        *(
            f"SELECT count(*) FROM {STORE_SALES} WHERE ss_sold_date_sk BETWEEN"
            f" {r.ss_sold_date_sk} AND {r.ss_sold_date_sk + 3}"
            for r in sale[75:85]
        ),
        *(
            f"SELECT count(*) FROM {STORE_SALES} WHERE ss_store_sk = {r.ss_store_sk}"
            for r in sale[85:90]
        ),
        *(f"SELECT * FROM {STORE_SALES} WHERE ss_coupon = '{r.ss_coupon}'" for r in sale[90:105]),
        *(
            f"SELECT count(*) FROM {STORE_SALES} WHERE ss_coupon LIKE '{r.ss_coupon[:12]}%'"
            for r in sale[105:112]
        ),
        *(
            f"SELECT count(*) FROM {STORE_SALES} WHERE ss_promo_sk = {r.ss_promo_sk or 7}"
            for r in sale[112:117]
        ),
        *(
            f"SELECT sum(s.ss_sales_price + {n}) FROM {STORE_SALES} s JOIN {_RETURNS} r"
            " ON s.ss_ticket_number = r.r_ticket"
            for n in range(4)
        ),
    ]
    drawn.shuffle(made)
    return made
