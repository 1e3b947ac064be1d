"""Whoever can write an index can hide rows, but cannot have a session run what they wrote."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import lakesieve as ls
from lakesieve.errors import UnsupportedError
from lakesieve.storage import open_storage
from lakesieve.store import Changes, IndexStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROPERTY = "lakesieve.forged"
RUN = f"concat(lower(s), reflect('java.lang.System', 'setProperty', '{PROPERTY}', s))"


@pytest.mark.parametrize(
    ("text", "told"),
    [(RUN, "is not allowed"), ("upper(s)", "Its values may be others now")],
    ids=["code", "other"],
)
def test_a_stored_expression_is_not_run(
    spark: SparkSession, table: str, text: str, told: str
) -> None:
    """A refresh computes only an expression of allowed functions that has the stored tree."""
    spark.sql(f"CREATE TABLE {table} AS SELECT string(id) AS s FROM range(3)")
    index = ls.create_index(table, "lower(s)", name="low", spark=spark)
    store = IndexStore(open_storage(index.info().location))
    known = store.snapshot().definition
    (expression,) = known.expressions
    forged = replace(known, expressions=(replace(expression, sql=text),))
    store.replace(forged, Changes(operation="create"))

    with pytest.raises(UnsupportedError, match=told):
        ls.refresh_indexes(table, ["low"], spark=spark)

    assert spark._jvm is not None
    assert spark._jvm.java.lang.System.getProperty(PROPERTY) is None
