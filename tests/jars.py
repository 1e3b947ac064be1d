"""Java programs that tests start: their jars, loaded once and for all later runs."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark
from tests.storage.s3_servers import CACHE, once

from lakesieve.spark.local import check_java, packages_conf
from lakesieve.spark.tables.registry import formats_of
from lakesieve.spark.versions.spark_versions import SPARK_VERSIONS, spark_version_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["fetched", "java_program", "load_formats", "resolved", "spark_jars"]

_CENTRAL = "https://repo1.maven.org/maven2"
_QUICK = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m")


def resolved(*packages: str, excludes: Sequence[str] = ()) -> list[Path]:
    """Jars of Maven packages and of what they need, loaded by Spark's own launcher.

    Args:
        packages: ``group:artifact:version`` each.
        excludes: ``group:artifact`` of what is not needed.
    """
    name = hashlib.sha256(" ".join((*packages, "-", *excludes)).encode()).hexdigest()[:16]
    folder = CACHE / f"jars-{name}"
    with once(folder):
        if not (folder / "complete").exists():
            settings = {
                "spark.jars.packages": ",".join(packages),
                "spark.jars.excludes": ",".join(excludes),
                "spark.jars.ivy": str(folder / "ivy"),
            }
            _load(packages_conf(SPARK_VERSIONS[0], []) | settings)
            for jar in (folder / "ivy" / "jars").glob("*.jar"):
                jar.replace(folder / jar.name)
            shutil.rmtree(folder / "ivy")
            (folder / "complete").touch()
    return sorted(folder.glob("*.jar"))


def load_formats() -> None:
    """Load the packages of all table formats for the installed Spark, in one process at a time.

    Sessions that start at the same time would disturb each other: Ivy does not lock its cache.
    """
    version = spark_version_of(pyspark.__version__)
    specs = [spec for spec in formats_of(version) if spec.packages]
    packages = [spec.packages[version.name] for spec in specs if spec.packages]
    folder = CACHE / f"packages-{version.name}"
    marker = folder / hashlib.sha256(" ".join(packages).encode()).hexdigest()[:16]
    with once(folder):
        jars = ["_".join(name.split(":", 1)).replace(":", "-") + ".jar" for name in packages]
        is_loaded = all(any(Path.home().glob(f".ivy2*/jars/{jar}")) for jar in jars)
        if packages and not (marker.exists() and is_loaded):
            _load(packages_conf(version, specs))
            marker.touch()


def _load(settings: Mapping[str, str]) -> None:
    """Load packages with Spark's launcher."""
    check_java()
    conf = [part for pair in settings.items() for part in ("--conf", "=".join(pair))]
    # any program will do: what it needs is loaded before it starts
    program = ["--class", "org.apache.hadoop.util.VersionInfo", "spark-internal"]
    command = [str(_spark_home() / "bin" / "spark-submit"), *conf, *program]
    subprocess.run(command, check=True, capture_output=True)


def fetched(path: str, digest: str) -> Path:
    """A jar of Maven Central that Spark's launcher cannot name, as its name has a classifier.

    Args:
        path: Its path there.
        digest: Its SHA-256.
    """
    folder = CACHE / "jars"
    jar = folder / path.rpartition("/")[2]
    with once(folder):
        if not jar.exists():
            with urllib.request.urlopen(f"{_CENTRAL}/{path}", timeout=60) as answer:
                data = answer.read()
            found = hashlib.sha256(data).hexdigest()
            if found != digest:
                raise RuntimeError(f"{path} has the digest {found}")
            part = jar.with_suffix(".part")
            part.write_bytes(data)
            part.replace(jar)
    return jar


def spark_jars() -> str:
    """All jars of PySpark, as an entry of a class path."""
    return str(_spark_home() / "jars" / "*")


def java_program(class_path: Sequence[str | Path], *words: str) -> list[str]:
    """A command that starts Java, with little memory.

    Args:
        class_path: Jars and folders with ``*``.
        words: Options, the class and its arguments.
    """
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else "java"
    return [java, *_QUICK, "-cp", os.pathsep.join(map(str, class_path)), *words]


def _spark_home() -> Path:
    return Path(pyspark.__file__).parent
