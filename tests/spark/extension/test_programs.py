"""Spark's own programs with lakesieve's jar: jobs in SQL and in Scala skip files, too."""

from __future__ import annotations

import re
import zipfile
from typing import TYPE_CHECKING

import pytest
from tests.depth import is_soak
from tests.spark.extension.kit import check_program, run_program, settings_of
from tests.spark.extension.statements import check_program_statements

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.mark.soak
@pytest.mark.parametrize("program", ["spark-sql", "spark-shell"])
def test_same_answers(
    spark: SparkSession, jar: Path, relations: dict[str, str], tmp_path: Path, program: str
) -> None:
    """Generated conditions give the same rows with skipping off and on, from fewer files."""
    check_program(program, settings_of(spark, jar), list(relations.values()), tmp_path)


@pytest.mark.parametrize("program", ["spark-sql", "spark-shell"])
def test_statements(spark: SparkSession, jar: Path, tmp_path: Path, program: str) -> None:
    """A job in SQL and a job in Scala run the script of statements."""
    check_program_statements(program, settings_of(spark, jar), tmp_path, is_short=not is_soak())


@pytest.mark.soak
def test_a_jar_of_another_version(spark: SparkSession, jar: Path, tmp_path: Path) -> None:
    """The log says so in a line, and queries are answered."""
    other = tmp_path / "other.jar"
    with zipfile.ZipFile(jar) as right, zipfile.ZipFile(other, "w") as wrong:
        for name in right.namelist():
            content = right.read(name)
            if name == "META-INF/MANIFEST.MF":
                content, count = re.subn(rb"(Specification-Version): [^\r]*", rb"\1: 9.9", content)
                assert count == 1
            wrong.writestr(name, content)
    ran = run_program("spark-sql", settings_of(spark, other), ["SELECT 'rows', 42"], tmp_path)
    assert "rows\t42" in ran.stdout
    assert (
        f"this jar of lakesieve is for Spark 9.9, but this is Spark {spark.version}" in ran.stderr
    )
