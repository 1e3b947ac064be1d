"""Joins with skipping on against skipping off, over generated joins."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from tests.depth import depth
from tests.kit.generated import predicate
from tests.kit.reports import internal_errors

import lakesieve as ls

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TYPED = ("i", "l", "s", "d", "t", "n", "m", "b", "x", "f", "y", "w")
# what is compared under a cast of either side, or in another way than by equality
# aliases are no names of columns, which inner queries would find first
CONVERTED = (
    "bb.i = dd.wide",
    "bb.l = dd.i",
    "bb.i = dd.text",
    "bb.x = dd.f",
    "bb.f = dd.x",
    "bb.m = dd.w",
    "bb.w = dd.m",
    "bb.t = dd.n",
    "bb.d = dd.t",
    "bb.st.k = dd.l",
    "bb.i + 1 = dd.i",
    "bb.i <=> dd.i",
    "bb.i = dd.i OR bb.s = dd.s",
    "bb.i < dd.i AND bb.l = dd.l",
    "bb.i = dd.i AND bb.s = dd.s",
    "bb.i = dd.i AND bb.s = upper(dd.s)",
    "bb.i = dd.i AND bb.id > dd.id",
)
FORMS = (
    "SELECT bb.id AS x, dd.id AS y FROM {b} bb JOIN {d} dd ON {on}{where}",
    "SELECT bb.id AS x, dd.id AS y FROM {d} dd JOIN {b} bb ON {on}{where}",
    "SELECT bb.id AS x, dd.id AS y FROM {d} dd LEFT JOIN {b} bb ON {on}{where}",
    "SELECT bb.id AS x, dd.id AS y FROM {b} bb LEFT JOIN {d} dd ON {on}{where}",
    "SELECT bb.id AS x, dd.id AS y FROM {b} bb RIGHT JOIN {d} dd ON {on}{where}",
    "SELECT bb.id AS x, dd.id AS y FROM {b} bb FULL JOIN {d} dd ON {on}{where}",
    "SELECT bb.id AS x, 1 AS y FROM {b} bb LEFT SEMI JOIN {d} dd ON {on}",
    "SELECT bb.id AS x, 1 AS y FROM {b} bb LEFT ANTI JOIN {d} dd ON {on}",
    "SELECT dd.id AS x, 1 AS y FROM {d} dd LEFT SEMI JOIN {b} bb ON {on}",
    "SELECT dd.id AS x, 1 AS y FROM {d} dd LEFT ANTI JOIN {b} bb ON {on}",
    "SELECT bb.id AS x, 1 AS y FROM {b} bb WHERE EXISTS (SELECT 1 FROM {d} dd WHERE {on})",
    "SELECT bb.id AS x, 1 AS y FROM {b} bb WHERE NOT EXISTS (SELECT 1 FROM {d} dd WHERE {on})",
    (
        "SELECT dd.id AS x, 1 AS y FROM {d} dd "
        "WHERE EXISTS (SELECT 1 FROM {b} bb WHERE {on}) OR dd.id = 7"
    ),
    "SELECT bb.id AS x, ee.id AS y FROM {b} bb JOIN {d} dd ON {on} JOIN {e} ee ON bb.{c} = ee.{c}",
    (
        "SELECT bb.id AS x, cc.id AS y FROM {b} bb JOIN {b2} cc ON bb.{c} = cc.{c} "
        "WHERE cc.id IN (5, 901)"
    ),
    (
        "WITH cc AS (SELECT * FROM {b}) SELECT bb.id AS x, cc.id AS y FROM cc JOIN {d} dd "
        "ON cc.{c} = dd.{c} JOIN cc bb ON bb.id = cc.id JOIN {e} ee ON bb.{c} = ee.{c}"
    ),
    "SELECT id AS x, (SELECT count(*) FROM {b} bb JOIN {d} dd ON {on}) AS y FROM {e}",
    (
        "SELECT q.x AS x, count(*) AS y FROM (SELECT bb.{c} AS x, bb.id FROM {b} bb) q "
        "JOIN {d} dd ON q.x = dd.{c} GROUP BY q.x"
    ),
)
MEMBERS = (
    "SELECT bb.id AS x, 1 AS y FROM {b} bb WHERE {c} IN (SELECT {c} FROM {d})",
    "SELECT bb.id AS x, 1 AS y FROM {b} bb WHERE {c} NOT IN (SELECT {c} FROM {d})",
    "SELECT bb.id AS x, 1 AS y FROM {b} bb WHERE {c} NOT IN (SELECT {c} FROM {d} WHERE id > 10000)",
    "SELECT bb.id AS x, 1 AS y FROM {b} bb WHERE ({c}, i) IN (SELECT {c}, i FROM {d})",
)
QUERIES, JOINS = depth("QUERIES", test=2, soak=50), 6


def _query(random_: random.Random, big: str) -> str:
    queries = []
    for number in range(JOINS):
        column = random_.choice(TYPED)
        plain = random_.random() < 0.65
        where = random_.random()
        filters = f" WHERE {predicate(random_, depth=1)}" if where < 0.25 else ""
        # names in drawn predicates are those of the large table
        result = filters.replace(" WHERE ", "")
        table = f"(SELECT * FROM {big} WHERE {result})" if result else big
        join = random_.choice((*FORMS, *MEMBERS)).format(
            b=random_.choice((table, table, f"{big} VERSION AS OF 'old'")),
            b2=big,
            d=random_.choice(("lake.joins.few", "few_rdd", "few_view")),
            e=random_.choice(("lake.joins.few", "few_rdd")),
            c=column,
            on=f"bb.{column} = dd.{column}" if plain else random_.choice(CONVERTED),
            where=random_.choice(("", "", " WHERE dd.id % 2 = 1", " WHERE bb.id % 2 = 1")),
        )
        queries.append(
            f"SELECT {number} AS q, count(*) AS n, bit_xor(xxhash64(CAST(x AS STRING), y)) AS h, "
            f"sum(y) AS s FROM ({join})"
        )
    return " UNION ALL ".join(queries)


@pytest.mark.parametrize("adaptive", ["true", pytest.param("false", marks=pytest.mark.soak)])
def test_same_joins_with_and_without_skipping(spark: SparkSession, big: str, adaptive: str) -> None:
    """Generated joins of all kinds give the same rows, and their keys skip files."""
    random_ = random.Random(f"joins {adaptive}")
    total = read = join_scans = 0
    # text and numbers are compared as numbers, and not all text is one
    spark.conf.set("spark.sql.ansi.enabled", "false")
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    try:
        for _ in range(QUERIES):
            query = _query(random_, big)
            ls.disable(spark)
            expected = sorted(map(repr, spark.sql(query).collect()))
            ls.enable(spark)
            actual = sorted(map(repr, spark.sql(query).collect()))
            pruned = [p for p in ls.last_pruning(spark) if p.table == big]

            assert actual == expected, query
            assert internal_errors(pruned) == [], query
            by_keys = [p for p in pruned if any(r.code == "join-keys" for r in p.reasons)]
            join_scans += len(by_keys)
            total += sum(p.files_total for p in by_keys)
            read += sum(p.files_read for p in by_keys)
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")
        spark.conf.set("spark.sql.adaptive.enabled", "false")
        ls.disable(spark)

    assert join_scans > QUERIES
    assert read < 0.9 * total
