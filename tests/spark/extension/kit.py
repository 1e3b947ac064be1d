"""Spark's own programs with lakesieve's jar: their settings, and what they must find."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlparse

import pyspark
from tests.depth import depth
from tests.kit.generated import predicate

from lakesieve.spark.extension.result import EXTENSION
from lakesieve.spark.tables import FORMATS
from lakesieve.spark.versions.spark_versions import spark_version_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

__all__ = [
    "COLUMNS",
    "HAS_ICEBERG",
    "PROGRAMS",
    "check_program",
    "conf_of",
    "run_program",
    "settings_of",
]

PROGRAMS = Path(pyspark.__file__).parent / "bin"
"""The programs of Spark."""

HAS_ICEBERG = FORMATS["iceberg"].runs_on(spark_version_of(pyspark.__version__).name)
"""Whether Iceberg has a runtime for this version of Spark."""

COLUMNS = ("i", "l", "s", "d", "t", "x")
PREDICATES = depth("PREDICATES", test=4, soak=40)
# jars of the formats; of what they depend on, Spark has its own
JARS = ("io.delta_", "org.apache.iceberg_", "org.apache.hudi_")
# reads the statements that spark-sql is given
SCALA = """
val file = scala.io.Source.fromFile("statements.sql", "UTF-8")
for (statement <- file.mkString.split(";\\n"))
  spark.sql(statement).collect().foreach(row => println(row.mkString("\\t")))
System.exit(0)
"""
# the same for statements that may fail, with the names of their columns, as spark-sql prints them
SCALA_THAT_GOES_ON = """
val file = scala.io.Source.fromFile("statements.sql", "UTF-8")
for (statement <- file.mkString.split(";\\n")) try {
  val rows = spark.sql(statement)
  val texts = rows.selectExpr(rows.columns.map(name => s"CAST(`$name` AS STRING)"): _*)
  if (rows.columns.nonEmpty) println(rows.columns.mkString("\\t"))
  texts.collect().foreach(row => println(row.mkString("\\t")))
} catch {
  case error: Exception => Console.err.println(error.getMessage)
}
System.exit(0)
"""
# what the driver of the tests has of its own
KEPT = (
    *("spark.master", "spark.driver.host", "spark.driver.bindAddress", "spark.driver.memory"),
    *("spark.driver.defaultJavaOptions", "spark.serializer", "spark.kryo.registrator"),
)
KEPT_BELOW = ("spark.sql.", "spark.databricks.", "spark.lakesieve.planning.")


def settings_of(spark: SparkSession, jar: Path) -> dict[str, str]:
    """Those of a driver with the same tables, and the jar."""
    own = dict(spark.sparkContext.getConf().getAll())
    settings = {k: v for k, v in own.items() if k in KEPT or k.startswith(KEPT_BELOW)}
    jars = (unquote(urlparse(one).path) for one in own["spark.jars"].split(","))
    formats = [one for one in jars if Path(one).name.startswith(JARS)]
    return settings | {
        "spark.ui.enabled": "false",
        # sessions of a Thrift server do not see the catalogs of jars that are added later
        "spark.driver.extraClassPath": os.pathsep.join(formats),
        "spark.jars": str(jar),
        "spark.sql.extensions": f"{own['spark.sql.extensions']},{EXTENSION}",
        "spark.lakesieve.python": sys.executable,
    }


def conf_of(settings: dict[str, str]) -> list[str]:
    """Settings as arguments of Spark's programs."""
    return [part for pair in settings.items() for part in ("--conf", "=".join(pair))]


def run_program(
    program: str,
    settings: dict[str, str],
    statements: list[str],
    folder: Path,
    *,
    goes_on: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Run statements in ``spark-sql``, or in Scala in ``spark-shell``.

    Args:
        program: The program.
        settings: Its settings.
        statements: The statements.
        folder: Where its files go.
        goes_on: Whether it goes on after an error, and prints the names of columns.
    """
    if goes_on:
        settings = settings | {
            "spark.hadoop.hive.cli.errors.ignore": "true",
            "spark.sql.cli.print.header": "true",
        }
    (folder / "statements.sql").write_text(";\n".join(statements) + ";\n")
    (folder / "job.scala").write_text(SCALA_THAT_GOES_ON if goes_on else SCALA)
    given = ["-f", "statements.sql"] if program == "spark-sql" else ["-i", "job.scala"]
    return subprocess.run(
        [PROGRAMS / program, *conf_of(settings), *given],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def check_program(
    program: str,
    settings: dict[str, str],
    relations: Sequence[str],
    folder: Path,
    *,
    before: Sequence[str] = (),
) -> None:
    """Insist on equal rows of generated conditions with skipping off and on, from fewer files."""
    statements = [*before, *_statements(relations, random.Random(program))]
    ran = run_program(program, settings, statements, folder)
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


def _statements(relations: Sequence[str], drawn: random.Random) -> list[str]:
    """Queries of each table with skipping off and on, each after its number, and the report."""
    statements = []
    for relation in relations:
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
