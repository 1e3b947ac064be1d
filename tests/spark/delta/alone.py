"""A session of Delta alone, as a first-time user has it, and pandas-on-Spark in it."""

from __future__ import annotations

import os
import sys
from typing import Any

# as pandas-on-Spark wants it, before there is a session
os.environ["PYARROW_IGNORE_TIMEZONE"] = "1"

import lakesieve as ls


def main(folder: str) -> None:
    """Build and use an index in both ways; any failure ends the process."""
    import pyspark.pandas as ps

    spark = ls.local_session(
        f"{folder}/warehouse",
        formats=["delta"],
        conf={"spark.master": "local[2]", "spark.sql.shuffle.partitions": "2"},
    )
    table = f"{folder}/table"
    # scattered, or Delta's own statistics would leave one file
    rows = spark.range(0, 400, 1, 4).selectExpr("id * 319 % 400 AS id")
    rows.write.format("delta").save(table)
    ls.create_index(f"delta:{table}", ["id"], spark=spark)
    ls.enable(spark)
    frame: Any = ps.read_delta(table)
    found = frame[frame["id"] == 250].to_pandas()
    if found["id"].tolist() != [250] or frame["id"].sum() != 79_800:
        raise SystemExit(f"pandas-on-Spark found {found}")
    spark.read.format("delta").load(table).where("id = 250").collect()
    (scan,) = ls.last_pruning(spark)
    sys.stdout.write(f"{scan.files_read} of {scan.files_total} files\n")


if __name__ == "__main__":
    main(sys.argv[1])
