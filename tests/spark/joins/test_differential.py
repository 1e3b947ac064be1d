"""Joins with skipping on against skipping off, over generated joins."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

import lakesieve as ls
from lakesieve.testing.generated import predicate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TYPED = ("i", "l", "s", "d", "t", "n", "m", "b", "x", "f", "y", "w")
# what is compared under a cast of either side, or in another way than by equality
CONVERTED = (
    "b.i = d.wide",
    "b.l = d.i",
    "b.i = d.text",
    "b.x = d.f",
    "b.f = d.x",
    "b.m = d.w",
    "b.w = d.m",
    "b.t = d.n",
    "b.d = d.t",
    "b.st.k = d.l",
    "b.i + 1 = d.i",
    "b.i <=> d.i",
    "b.i = d.i OR b.s = d.s",
    "b.i < d.i AND b.l = d.l",
    "b.i = d.i AND b.s = d.s",
    "b.i = d.i AND b.s = upper(d.s)",
    "b.i = d.i AND b.id > d.id",
)
FORMS = (
    "SELECT b.id AS x, d.id AS y FROM {b} b JOIN {d} d ON {on}{where}",
    "SELECT b.id AS x, d.id AS y FROM {d} d JOIN {b} b ON {on}{where}",
    "SELECT b.id AS x, d.id AS y FROM {d} d LEFT JOIN {b} b ON {on}{where}",
    "SELECT b.id AS x, d.id AS y FROM {b} b LEFT JOIN {d} d ON {on}{where}",
    "SELECT b.id AS x, d.id AS y FROM {b} b RIGHT JOIN {d} d ON {on}{where}",
    "SELECT b.id AS x, d.id AS y FROM {b} b FULL JOIN {d} d ON {on}{where}",
    "SELECT b.id AS x, 1 AS y FROM {b} b LEFT SEMI JOIN {d} d ON {on}",
    "SELECT b.id AS x, 1 AS y FROM {b} b LEFT ANTI JOIN {d} d ON {on}",
    "SELECT d.id AS x, 1 AS y FROM {d} d LEFT SEMI JOIN {b} b ON {on}",
    "SELECT d.id AS x, 1 AS y FROM {d} d LEFT ANTI JOIN {b} b ON {on}",
    "SELECT b.id AS x, 1 AS y FROM {b} b WHERE EXISTS (SELECT 1 FROM {d} d WHERE {on})",
    "SELECT b.id AS x, 1 AS y FROM {b} b WHERE NOT EXISTS (SELECT 1 FROM {d} d WHERE {on})",
    "SELECT d.id AS x, 1 AS y FROM {d} d WHERE EXISTS (SELECT 1 FROM {b} b WHERE {on}) OR d.id=7",
    "SELECT b.id AS x, e.id AS y FROM {b} b JOIN {d} d ON {on} JOIN {e} e ON b.{c} = e.{c}",
    "SELECT b.id AS x, c.id AS y FROM {b} b JOIN {b2} c ON b.{c} = c.{c} WHERE c.id IN (5, 901)",
    (
        "WITH c AS (SELECT * FROM {b}) SELECT b.id AS x, c.id AS y FROM c JOIN {d} d "
        "ON c.{c} = d.{c} JOIN c b ON b.id = c.id JOIN {e} e ON b.{c} = e.{c}"
    ),
    "SELECT id AS x, (SELECT count(*) FROM {b} b JOIN {d} d ON {on}) AS y FROM {e}",
    (
        "SELECT q.x AS x, count(*) AS y FROM (SELECT b.{c} AS x, b.id FROM {b} b) q "
        "JOIN {d} d ON q.x = d.{c} GROUP BY q.x"
    ),
)
MEMBERS = (
    "SELECT b.id AS x, 1 AS y FROM {b} b WHERE {c} IN (SELECT {c} FROM {d})",
    "SELECT b.id AS x, 1 AS y FROM {b} b WHERE {c} NOT IN (SELECT {c} FROM {d})",
    "SELECT b.id AS x, 1 AS y FROM {b} b WHERE {c} NOT IN (SELECT {c} FROM {d} WHERE id > 10000)",
    "SELECT b.id AS x, 1 AS y FROM {b} b WHERE ({c}, i) IN (SELECT {c}, i FROM {d})",
)
QUERIES, JOINS = 12, 6


def _query(random_: random.Random, big: str) -> str:
    parts = []
    for number in range(JOINS):
        column = random_.choice(TYPED)
        plain = random_.random() < 0.65
        where = random_.random()
        filters = f" WHERE {predicate(random_, depth=1)}" if where < 0.25 else ""
        # names in drawn predicates are those of the large table
        told = filters.replace(" WHERE ", "")
        table = f"(SELECT * FROM {big} WHERE {told})" if told else big
        join = random_.choice((*FORMS, *MEMBERS)).format(
            b=random_.choice((table, table, f"{big} VERSION AS OF 'old'")),
            b2=big,
            d=random_.choice(("lake.joins.few", "few_rdd", "few_view")),
            e=random_.choice(("lake.joins.few", "few_rdd")),
            c=column,
            on=f"b.{column} = d.{column}" if plain else random_.choice(CONVERTED),
            where=random_.choice(("", "", " WHERE d.id % 2 = 1", " WHERE b.id % 2 = 1")),
        )
        parts.append(
            f"SELECT {number} AS q, count(*) AS n, bit_xor(xxhash64(CAST(x AS STRING), y)) AS h, "
            f"sum(y) AS s FROM ({join})"
        )
    return " UNION ALL ".join(parts)


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_same_joins_with_and_without_skipping(spark: SparkSession, big: str, adaptive: str) -> None:
    """Generated joins of all kinds give the same rows, and their keys skip files."""
    random_ = random.Random(f"joins {adaptive}")
    total = read = keyed = 0
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
            assert [r for p in pruned for r in p.reasons if r.code == "internal-error"] == [], query
            by_keys = [p for p in pruned if any(r.code == "join-keys" for r in p.reasons)]
            keyed += len(by_keys)
            total += sum(p.files_total for p in by_keys)
            read += sum(p.files_read for p in by_keys)
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")
        spark.conf.unset("spark.sql.adaptive.enabled")
        ls.disable(spark)

    assert keyed > QUERIES
    assert read < 0.8 * total
