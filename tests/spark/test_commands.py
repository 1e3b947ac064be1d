"""DELETE, UPDATE and MERGE with skipping on leave the table as they do with skipping off."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import lakesieve as ls

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COMMANDS = (
    "DELETE FROM {t} WHERE k = 500",
    "DELETE FROM {t} WHERE k IN (1, 2, 3) AND v % 2 = 0",
    "UPDATE {t} SET v = -v WHERE k BETWEEN 10 AND 20",
    "UPDATE {t} SET k = k + 1 WHERE k IS NULL OR k = 77",
    (
        "MERGE INTO {t} USING (SELECT id AS key FROM range(95, 105)) ON k = key AND k > 97 "
        "WHEN MATCHED THEN UPDATE SET v = 0 WHEN NOT MATCHED THEN INSERT (k, v) VALUES (key, 1)"
    ),
    (
        "MERGE INTO {t} USING (SELECT 7 AS key) ON k = key AND k = 7 WHEN MATCHED THEN DELETE "
        "WHEN NOT MATCHED BY SOURCE AND v = 33 THEN UPDATE SET v = 34"
    ),
    "DELETE FROM {t} WHERE k IN (SELECT k FROM {t} WHERE k = 900)",
)


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_commands_change_the_same_rows(spark: SparkSession, table: str, mode: str) -> None:
    """Each command, on twin tables, gives the same rows with skipping as without."""
    twins = (f"{table}_off", f"{table}_on")
    modes = ",".join(f"'write.{c}.mode'='{mode}'" for c in ("delete", "update", "merge"))
    for twin in twins:
        spark.sql(f"DROP TABLE IF EXISTS {twin} PURGE")
        spark.sql(
            f"CREATE TABLE {twin} (k BIGINT, v BIGINT) USING iceberg "
            f"TBLPROPERTIES ({modes}, 'write.distribution-mode'='none')"
        )
        rows = spark.range(0, 800, 1, 8).selectExpr(
            "IF(id % 90 = 5, NULL, (id * 7919) % 1009) AS k", "id AS v"
        )
        rows.writeTo(twin).append()
    ls.create_index(twins[1], ["k"], spark=spark)
    for command in COMMANDS:
        contents = []
        for twin, switch in zip(twins, (ls.disable, ls.enable), strict=True):
            switch(spark)
            spark.sql(command.format(t=twin))
            ls.disable(spark)
            contents.append(sorted(map(repr, spark.table(twin).collect())))

        assert contents[0] == contents[1], command
    for twin in twins:
        spark.sql(f"DROP TABLE {twin} PURGE")
