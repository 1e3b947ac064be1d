"""Commands as a person runs them, in a process of their own, where a start of Java is noticed."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from tests.engines.tables import index_of, rows

from lakesieve import __version__
from lakesieve.spark.versions.spark_versions import SPARK_VERSIONS
from lakesieve.tables.opening import open_table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A folder with a table in the embedded warehouse, and what says whether Java was started."""

    folder: Path
    marker: Path

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the command line there."""
        return subprocess.run(
            [sys.executable, "-c", "from lakesieve.cli import main; main()", *arguments],
            cwd=self.folder,
            env=self.environment(),
            capture_output=True,
            text=True,
            check=False,
        )

    def environment(self) -> dict[str, str]:
        """Variables by which the only Java is one that leaves the marker."""
        return {
            **{k: v for k, v in os.environ.items() if k not in {"JAVA_HOME", "SPARK_HOME"}},
            "PATH": f"{self.folder}/bin:{os.environ['PATH']}",
        }


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Two tables that share their files, as Hadoop's catalogs have them, one with indexes."""
    folder = tmp_path_factory.mktemp("wäre house")
    java = folder / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\ntouch '{folder}/java-was-started'\nexit 1\n")
    java.chmod(0o755)
    catalog = SqlCatalog("c", uri=f"sqlite:///{folder}/c.db", warehouse=str(folder / "data"))
    catalog.create_namespace("db")
    drawn = random.Random("place")
    table = catalog.create_table("db.t", schema=rows(drawn, 1).schema)
    for _ in range(4):
        table.append(rows(drawn, 20))
    document = json.loads(table.metadata.model_dump_json())
    for name in ("t", "other"):
        home = folder / "warehouse" / "db" / name
        (home / "metadata").mkdir(parents=True)
        more = {"location": str(home), "table-uuid": document["table-uuid"]}
        if name == "other":
            more["table-uuid"] = "11111111-2222-3333-4444-555555555555"
        (home / "metadata" / "v1.metadata.json").write_text(json.dumps({**document, **more}))
    opened = open_table("lake.db.t", warehouse=str(folder / "warehouse"))
    for column in ("id", "text"):
        index_of(opened, column, covers=lambda _: True)
    return Place(folder=folder, marker=folder / "java-was-started")


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (("list", "lake.db.t"), "text"),
        (("show", "lake.db.t", "id"), "bits a row"),
        (("files", "lake.db.t", "id = 5"), ""),
        (("files", "lake.db.t", "moment > '1969-12-31'", "--timezone", "Asia/Tokyo"), ".parquet"),
        (("explain", "lake.db.t", "id = 5"), "index-used"),
        (("history", "lake.db.t", "id"), "create"),
        (("verify", "lake.db.t", "id"), "as written"),
        (("compact", "lake.db.t", "id", "--dry-run"), ""),
        (("vacuum", "lake.db.t", "id", "--dry-run"), ""),
        (("repair", "lake.db.t", "id", "--dry-run"), "Nothing is damaged"),
        (("clone", "lake.db.t", "id", "lake.db.other"), "lake.db.other"),
        (("drop", "lake.db.t", "text", "--dry-run"), ""),
        (("--help",), "Secondary"),
        (("files", "--help"), "PREDICATE"),
    ],
    ids=lambda given: given if isinstance(given, str) else " ".join(given),
)
def test_no_java_is_started(place: Place, arguments: Sequence[str], shown: str) -> None:
    """What only looks things up, or changes the index alone, starts no JVM."""
    done = place.run(*arguments)

    assert (done.returncode, not place.marker.exists()) == (0, True), done.stderr
    assert shown in done.stdout
    assert "Starting Spark" not in done.stderr


def test_errors_start_none_either(place: Place) -> None:
    """What cannot be found is one line, with status 1."""
    for arguments in (
        ("show", "lake.db.t", "nothing"),
        ("list", "lake.db.nothing"),
        ("files", "lake.db.t", "nothing = 5"),
        ("files", "lake.db.t", "id = "),
        ("list", "nothing.db.t", "--catalog", "nothing"),
    ):
        done = place.run(*arguments)
        assert (done.returncode, done.stdout) == (1, ""), arguments
        assert done.stderr.startswith("error: ")
        assert len(done.stderr.splitlines()) == 1
    assert not place.marker.exists()


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
                **place.environment(),
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
def test_the_jar_of_a_version(place: Place, version: str) -> None:
    """``spark-jar --spark`` copies the jar for that version, without Java."""
    path = place.folder / f"{version}.jar"
    done = place.run("spark-jar", "--spark", version, "--output", str(path), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["spark"] == version
    with zipfile.ZipFile(path) as jar:
        manifest = jar.read("META-INF/MANIFEST.MF").decode()
        names = jar.namelist()
    assert f"Implementation-Version: {__version__}" in manifest
    assert "lakesieve/LakesieveExtensions.class" in names
    assert not place.marker.exists()
