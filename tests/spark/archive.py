"""Write the archive of Spark's classes that each JVM of the tests starts from.

A third of what starting Spark takes is to read the classes in its jars. Java's class-data sharing
(JEP 350) keeps them parsed in a file, here one of the environment's:
``.venv/bin/python -m tests.spark.archive``.
"""

from __future__ import annotations

import os
import sys
import tempfile

from tests.java_options import ARCHIVE, submit_arguments

import lakesieve as ls

_ROWS = "SELECT id % 100 AS k, CAST(id AS STRING) AS s FROM range(1000)"
# what most tests do: the classes it uses are those in the archive
_WORK = [
    "DELETE FROM {name} WHERE k = 7",
    "UPDATE {name} SET s = 'x' WHERE k = 8",
    "MERGE INTO {name} t USING (SELECT 9 AS k) n ON t.k = n.k WHEN MATCHED THEN DELETE",
    "SELECT k, count(*), max(s) FROM {name} WHERE k = 3 GROUP BY k",
    "SELECT k, a.s FROM {name} a JOIN {name} b USING (k) WHERE k IN (1, 2) ORDER BY a.s",
]


def main() -> None:
    """Do a little work with Iceberg and Delta, and keep the classes that it took."""
    ARCHIVE.unlink(missing_ok=True)
    os.environ["PYSPARK_SUBMIT_ARGS"] = submit_arguments(f"-XX:ArchiveClassesAtExit={ARCHIVE}")
    with tempfile.TemporaryDirectory() as folder:
        spark = ls.local_session(folder, formats=["iceberg", "delta"])
        spark.sparkContext.setLogLevel("ERROR")
        for provider, name in {"iceberg": "lake.t.rows", "delta": "rows"}.items():
            spark.sql(f"CREATE TABLE {name} USING {provider} AS {_ROWS}")
            ls.create_index(name, ["k"], spark=spark)
            ls.enable(spark)
            for statement in _WORK:
                spark.sql(statement.format(name=name)).collect()
            ls.disable(spark)
            spark.sql(f"DROP TABLE {name}")
        gateway = spark.sparkContext._gateway
        assert gateway is not None
        java = gateway.proc
        spark.stop()
        # Java waits for the end of its input, writes the archive and ends
        java.stdin.close()
        java.wait()
    if not ARCHIVE.exists():
        # a Java of another make may have none: the tests pass, more slowly
        sys.stderr.write(f"This Java wrote no archive (status {java.returncode}).\n")


if __name__ == "__main__":
    main()
