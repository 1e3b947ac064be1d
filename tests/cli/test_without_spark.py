"""Commands as a person runs them, where a start of Java is noticed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from lakesieve import __version__
from lakesieve.spark.versions.spark_versions import SPARK_VERSIONS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.cli.conftest import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A folder with an embedded warehouse, whose only Java leaves a marker when it is started."""

    folder: Path
    marker: Path

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the command line in a process of its own."""
        return subprocess.run(
            [sys.executable, "-c", "from lakesieve.cli import main; main()", *arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def place(warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """The working folder of this process and of those that it starts."""
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    marker = tmp_path / "java-was-started"
    java.write_text(f"#!/bin/sh\ntouch '{marker}'\nexit 1\n")
    java.chmod(0o755)
    for name in ("JAVA_HOME", "SPARK_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", f"{java.parent}:{os.environ['PATH']}")
    monkeypatch.chdir(warehouse.parent)
    return Place(folder=warehouse.parent, marker=marker)


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (("list", "lake.db.t"), "text"),
        (("show", "lake.db.t", "id"), "bits a row"),
        (("files", "lake.db.t", "id = 5"), ""),
        (("files", "lake.db.t", "--order-by", "id DESC", "--limit", "1"), ".parquet"),
        (("files", "lake.db.t", "moment > '1969-12-31'", "--timezone", "Asia/Tokyo"), ".parquet"),
        (("explain", "lake.db.t", "id = 5"), "index-used"),
        (("history", "lake.db.t", "id"), "create"),
        (("verify", "lake.db.t", "id"), "as written"),
        (("compact", "lake.db.t", "id", "--dry-run"), ""),
        (("vacuum", "lake.db.t", "id", "--dry-run"), ""),
        (("repair", "lake.db.t", "id", "--dry-run"), "Nothing is damaged"),
        (("drop", "lake.db.t", "text", "--dry-run"), ""),
    ],
    ids=lambda given: given if isinstance(given, str) else " ".join(given),
)
def test_no_java_is_started(
    lakesieve: Run, place: Place, arguments: Sequence[str], shown: str
) -> None:
    """What only looks things up, or changes the index alone, starts no JVM."""
    done = lakesieve(*arguments)

    assert (done.exit_code, not place.marker.exists()) == (0, True), done.stderr
    assert shown in done.stdout
    assert "Starting Spark" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [(("files", "lake.db.t", "id = 5"), ""), (("--help",), "Start here")],
    ids=["files", "help"],
)
def test_processes_start_none(place: Place, arguments: Sequence[str], shown: str) -> None:
    """Nor does a process of its own, which leaves pandas out."""
    done = place.run(*arguments)

    assert (done.returncode, not place.marker.exists()) == (0, True), done.stderr
    assert shown in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "lake.db.t", "nothing"),
        ("list", "lake.db.nothing"),
        ("files", "lake.db.t", "nothing = 5"),
        ("files", "lake.db.t", "--order-by", "nothing", "--limit", "1"),
        ("files", "lake.db.t"),
        ("files", "lake.db.t", "id = "),
        ("list", "nothing.db.t", "--catalog", "nothing"),
    ],
    ids=" ".join,
)
def test_errors_start_none_either(lakesieve: Run, place: Place, arguments: Sequence[str]) -> None:
    """What cannot be found is one line, with status 1."""
    done = lakesieve(*arguments)

    assert (done.exit_code, done.stdout, place.marker.exists()) == (1, "", False)
    assert done.stderr.startswith("error: ")
    assert len(done.stderr.splitlines()) == 1


def test_completions_start_none(place: Place) -> None:
    """A shell's request for what may come next is answered with commands and options."""
    script = "from lakesieve.cli import build_app; build_app()(prog_name='lakesieve')"
    for words, expected in (
        ("lakesieve hi", ["history"]),
        ("lakesieve deletes st", ["status"]),
        ("lakesieve list --cata", ["--catalog"]),
    ):
        done = subprocess.run(
            [sys.executable, "-c", script],
            env={
                **os.environ,
                "_LAKESIEVE_COMPLETE": "complete_bash",
                "COMP_WORDS": words,
                "COMP_CWORD": str(words.count(" ")),
            },
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.split() == expected
    assert not place.marker.exists()


@pytest.mark.parametrize("version", [version.name for version in SPARK_VERSIONS])
def test_the_jar_of_a_version(lakesieve: Run, place: Place, tmp_path: Path, version: str) -> None:
    """``spark-jar --spark`` copies the jar for that version, without Java."""
    path = tmp_path / f"{version}.jar"
    done = lakesieve("spark-jar", "--spark", version, "--output", str(path), "--json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["spark"] == version
    with zipfile.ZipFile(path) as jar:
        manifest = jar.read("META-INF/MANIFEST.MF").decode()
        names = jar.namelist()
    assert f"Implementation-Version: {__version__}" in manifest
    assert "lakesieve/LakesieveExtensions.class" in names
    assert not place.marker.exists()


def test_the_jar_of_a_spark_that_is_not_tested(lakesieve: Run, tmp_path: Path) -> None:
    """For a Spark that is newer than all tested ones, the command says that it is untested."""
    done = lakesieve("spark-jar", "--spark", "9.9", "--output", str(tmp_path / "new.jar"))

    assert done.exit_code == 0, done.stderr
    assert "9.9, on which lakesieve is untested" in done.stdout
