"""Sessions of all kinds load lakesieve's classes, once for each JVM."""

from __future__ import annotations

import os
import re
import zipfile
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from tests.spark.extension.kit import settings_of
from tests.spark.loading import loaded_with, run_with

import lakesieve as ls
from lakesieve.spark.extension.jar import write_jar
from lakesieve.spark.extension.result import EXTENSION
from lakesieve.spark.versions.jar import own_class
from lakesieve.spark.versions.java_classes import java_array, java_class

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

EXTENSIONS = (
    "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions,"  # that of the format
    f"{EXTENSION}"
)


def test_a_thread_with_a_class_loader_of_its_own(spark: SparkSession) -> None:
    """A thread whose class loader is below that of the session has the same classes."""
    in_session = own_class(spark, "spark.OwnJar").path()

    def in_thread() -> tuple[str, bool]:
        thread = java_class(spark, "java.lang.Thread").currentThread()
        before = thread.getContextClassLoader()
        urls = java_array(spark, "java.net.URL", ())
        thread.setContextClassLoader(java_class(spark, "java.net.URLClassLoader")(urls, before))
        try:
            ls.enable(spark)
            ls.disable(spark)
            return own_class(spark, "spark.OwnJar").path(), True
        finally:
            thread.setContextClassLoader(before)

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(in_thread).result() == (in_session, True)


@pytest.mark.soak
def test_executors_have_the_classes(tmp_path: Path) -> None:
    """Executors in JVMs of their own have the classes once the session was enabled."""
    found = loaded_with(tmp_path, {"spark.master": "local-cluster[1,1,1024]"})

    assert found["versions"] == [ls.__version__]
    assert found["read"] == "1/4"


@pytest.mark.soak
def test_a_jar_in_the_settings(tmp_path: Path) -> None:
    """A jar from ``spark.jars`` is the only one, even if the session is enabled."""
    jar = tmp_path / "lakesieve-spark.jar"
    write_jar(jar)
    settings = {"spark.jars": str(jar), "spark.sql.extensions": EXTENSIONS}

    found = loaded_with(tmp_path, settings)

    later = ["1/4", 0]
    assert found == {"jar": str(jar), "versions": [ls.__version__], "read": "1/4", "later": later}


@pytest.mark.soak
def test_a_jar_for_the_driver_alone(spark: SparkSession, tmp_path: Path) -> None:
    """The session extension sends its jar to the executors, too."""
    jar = tmp_path / "lakesieve-spark.jar"
    write_jar(jar)
    formats = settings_of(spark, jar)["spark.driver.extraClassPath"]
    settings = {
        "spark.master": "local-cluster[1,1,1024]",
        "spark.driver.extraClassPath": os.pathsep.join([str(jar), formats]),
        "spark.sql.extensions": EXTENSIONS,
    }

    found = loaded_with(tmp_path, settings)

    assert (found["jar"], found["versions"]) == (str(jar), [ls.__version__])


@pytest.mark.soak
def test_jars_before_those_of_spark(tmp_path: Path) -> None:
    """A driver that prefers the users' jars skips files, too."""
    found = loaded_with(tmp_path, {"spark.driver.userClassPathFirst": "true"})

    assert found["read"] == "1/4"


@pytest.mark.soak
@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"Implementation-Version", "built for lakesieve 9.9, but lakesieve"),
        (b"Specification-Version", "built for Spark 9.9, but the session runs Spark"),
    ],
    ids=["lakesieve", "spark"],
)
def test_a_jar_of_another_version(tmp_path: Path, line: bytes, message: str) -> None:
    """A jar of another version in the settings is refused by name."""
    write_jar(tmp_path / "own.jar")
    other = tmp_path / "other.jar"
    with zipfile.ZipFile(tmp_path / "own.jar") as own, zipfile.ZipFile(other, "w") as changed:
        for name in own.namelist():
            content = own.read(name)
            if name == "META-INF/MANIFEST.MF":
                content, count = re.subn(b"(" + line + rb"): [^\r]*", rb"\1: 9.9", content)
                assert count == 1
            changed.writestr(name, content)

    ran = run_with(tmp_path, {"spark.jars": str(other)})

    assert ran.returncode
    assert message in ran.stderr
    assert "lakesieve spark-jar" in ran.stderr
