"""Spark's own programs with lakesieve's jar: jobs in SQL and in Scala skip files, too."""

from __future__ import annotations

import random
import subprocess
from typing import TYPE_CHECKING

import pytest
from tests.depth import depth
from tests.spark.extension.kit import COLUMNS, PROGRAMS, conf_of, settings_of

from lakesieve.testing.generated import predicate

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

PREDICATES = depth("PREDICATES", test=6, soak=40)
# reads the statements that spark-sql is given
SCALA = """
val file = scala.io.Source.fromFile("statements.sql", "UTF-8")
for (statement <- file.mkString.split(";\\n"))
  spark.sql(statement).collect().foreach(row => println(row.mkString("\\t")))
System.exit(0)
"""


def _statements(relations: dict[str, str], drawn: random.Random) -> list[str]:
    """Queries of each table with skipping off and on, each after its number, and the report."""
    statements = []
    for relation in relations.values():
        query = " UNION ALL ".join(
            f"SELECT 'rows', {number}, count(*), sum(id), sum(xxhash64(id, s, t) % 1000) "
            f"FROM {relation} WHERE {predicate(drawn, COLUMNS)}"
            for number in range(PREDICATES)
        )
        for switch in ("false", "true"):
            statements += [f"SET spark.lakesieve.enabled={switch}", query]
        statements.append(
            "SELECT 'report', sum(files_total), sum(files_read), count_if(size(indexes) > 0) "
            "FROM lakesieve_last_pruning()"
        )
    return statements


@pytest.mark.parametrize(
    "program", ["spark-sql", pytest.param("spark-shell", marks=pytest.mark.soak)]
)
def test_same_answers(
    spark: SparkSession, jar: Path, relations: dict[str, str], tmp_path: Path, program: str
) -> None:
    """Generated conditions give the same rows with skipping off and on, from fewer files."""
    statements = _statements(relations, random.Random(program))
    (tmp_path / "statements.sql").write_text(";\n".join(statements) + ";\n")
    (tmp_path / "job.scala").write_text(SCALA)
    given = ["-f", "statements.sql"] if program == "spark-sql" else ["-i", "job.scala"]
    ran = subprocess.run(
        [PROGRAMS / program, *conf_of(settings_of(spark, jar)), *given],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    rows = [line.split("\t") for line in ran.stdout.splitlines()]
    found = [row[1:] for row in rows if row[0] == "rows"]
    reports = [[int(value) for value in row[1:]] for row in rows if row[0] == "report"]
    assert len(found) == 2 * PREDICATES * len(relations), ran.stderr[-5000:]
    for at, (total, read, indexed) in enumerate(reports):
        first = 2 * PREDICATES * at
        off, on = (sorted(found[k : k + PREDICATES]) for k in (first, first + PREDICATES))
        assert off == on
        assert read < total
        assert indexed > 0
