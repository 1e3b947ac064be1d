"""DELETE, UPDATE and MERGE of Delta look for their rows in row blocks, and change the same rows."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import pytest
from tests.depth import depth
from tests.kit.reports import internal_errors
from tests.spark.commands.kit import SqlTable
from tests.spark.rows.reader_settings import SMALL_PAGES, VECTORIZED

import lakesieve as ls

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

ROWS, FILES, BLOCK = 1_000, 3, 50
TRACKED = ", 'delta.enableRowTracking'='true', 'delta.enableChangeDataFeed'='true'"
SOURCE = "(SELECT id AS key, 'new' AS text FROM range(5, 3505, 700)) ON id = key"
COMMANDS = {
    "delete": "DELETE FROM {t} WHERE id IN (55, 1299)",
    "update": "UPDATE {t} SET word = 'changed' WHERE id = 1300",
    "merge": (
        f"MERGE INTO {{t}} USING {SOURCE} WHEN MATCHED THEN UPDATE SET word = text "
        "WHEN NOT MATCHED THEN INSERT (id, word) VALUES (key, text)"
    ),
    "delete again": "DELETE FROM {t} WHERE id BETWEEN 1290 AND 1301",
    "merge some": (
        f"MERGE INTO {{t}} USING {SOURCE} WHEN MATCHED AND id = 2105 THEN DELETE "
        "WHEN MATCHED AND id < 2105 THEN UPDATE SET word = 'less'"
    ),
    "merge others": (
        f"MERGE INTO {{t}} USING {SOURCE} WHEN MATCHED THEN DELETE "
        "WHEN NOT MATCHED BY SOURCE AND id % 500 = 7 THEN UPDATE SET word = 'other'"
    ),
}
CHOSEN = depth("DELTA_COMMANDS", test=3, soak=len(COMMANDS))
# how many queries of a command search rows; a further query writes the files again
SEARCHES = {
    ("delete", "delta_vectors"): 1,
    ("update", "delta_vectors"): 2,
    ("merge", "delta_vectors"): 3,
    ("delete", "delta_rewrites"): 1,
    ("update", "delta_rewrites"): 1,
    ("merge", "delta_rewrites"): 1,
}


@pytest.fixture(params=["delta_vectors", "delta_rewrites"])
def kind(request: pytest.FixtureRequest) -> str:
    """How the table keeps deleted rows."""
    return str(request.param)


@pytest.fixture
def twins(spark: SparkSession, tmp_path: Path, kind: str) -> Iterator[tuple[SqlTable, SqlTable]]:
    """Two tables with the same files. The second one has an index of row blocks."""
    for name, value in SMALL_PAGES.items():
        spark.conf.set(name, value)
    made = []
    for number in range(2):
        table = SqlTable(spark, kind, f"searched{number}", tmp_path)
        table.create("id BIGINT, word STRING", TRACKED)
        rows = spark.range(ROWS * FILES, numPartitions=FILES)
        rows.selectExpr("id", "concat('word ', id) AS word").writeTo(table.name).append()
        made.append(table)
    ls.create_index(made[1].name, "id", spark=spark, rows_per_block=BLOCK)
    yield made[0], made[1]
    ls.disable(spark)
    for name in (*SMALL_PAGES, VECTORIZED):
        spark.conf.unset(name)
    for table in made:
        table.drop()


def _content(table: SqlTable) -> list[str]:
    """The rows, their row ids, and the change data of the last command."""
    rows = table.spark.sql(f"SELECT *, _metadata.row_id FROM {table.name}").collect()
    changes = table.spark.sql(
        f"SELECT id, word, _change_type FROM table_changes('{table.name}', {table.version()})"
    ).collect()
    return [*sorted(map(repr, rows)), *sorted(map(repr, changes))]


def _counts(table: SqlTable) -> dict[str, str]:
    """How many rows the last command changed, as the log says."""
    (last,) = table.spark.sql(f"DESCRIBE HISTORY {table.name} LIMIT 1").collect()
    names = ("Rows", "DeletionVectors")
    return {k: v for k, v in last.operationMetrics.items() if any(name in k for name in names)}


# the other reader is in the soak
@pytest.mark.in_time("delta_vectors-true", "delta_rewrites-true")
@pytest.mark.parametrize("vectorized", ["true", "false"])
def test_commands(
    spark: SparkSession, twins: tuple[SqlTable, SqlTable], kind: str, vectorized: str
) -> None:
    """A command with skipping changes the same rows as without it, and Delta logs the same."""
    spark.conf.set(VECTORIZED, vectorized)
    for name, command in islice(COMMANDS.items(), CHOSEN):
        found = []
        for table, switch in zip(twins, (ls.disable, ls.enable), strict=True):
            switch(spark)
            spark.sql(command.format(t=table.name))
            scans = ls.last_pruning(spark)
            ls.disable(spark)
            found.append((_content(table), _counts(table)))

        assert found[0] == found[1], name
        assert internal_errors(scans) == []
        if searches := SEARCHES.get((name, kind)):
            read = [(scan.rows_read, scan.rows_total) for scan in scans]
            assert len(read) >= searches, (name, scans)
            for rows, total in read[:searches]:
                assert rows is not None, (name, scans)
                assert total is not None
                assert rows < total / 2, (name, scans)
        ls.open_index(twins[1].name, "id", spark=spark).refresh()
