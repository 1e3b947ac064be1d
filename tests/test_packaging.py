"""The wheel and the source distribution: built, installed where nothing else is, and used."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from tests.doc_blocks import ROOT, blocks_of
from tests.doc_outputs import comparable, expected_of

from lakesieve.spark.versions.spark_versions import SPARK_VERSIONS

UV = str(Path(sys.executable).with_name("uv"))


# of this environment, and of the sessions of tests
OWN = {"PYTHONPATH", "VIRTUAL_ENV", "PYSPARK_SUBMIT_ARGS"}


def run(*command: str, cwd: Path) -> str:
    """Run a command as a user would, without the variables of this environment."""
    known = {k: v for k, v in os.environ.items() if k not in OWN}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=cwd, env=known, timeout=900
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both, the wheel with the jars that this tree has."""
    folder = tmp_path_factory.mktemp("dist")
    for kind in ("--wheel", "--sdist"):
        run(UV, "build", "--quiet", kind, "--out-dir", str(folder), cwd=ROOT)
    return folder


def installed(folder: Path, *what: str, python: str = sys.executable) -> Path:
    """The scripts of an empty environment into which something was installed."""
    run(UV, "venv", "--quiet", "--python", python, str(folder / "env"), cwd=folder)
    python = str(folder / "env" / "bin" / "python")
    run(UV, "pip", "install", "--quiet", "--python", python, *what, cwd=folder)
    return folder / "env" / "bin"


def test_what_they_hold(built: Path) -> None:
    """All that runs, templates and the jars too, no Java sources; and what it is made from."""
    (wheel,) = built.glob("*.whl")
    sources = {
        str(path.relative_to(ROOT / "src"))
        for path in (ROOT / "src" / "lakesieve").rglob("*")
        if path.is_file() and not {"__pycache__", "jars"} & set(path.parts)
    }
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    jars = {f"lakesieve/spark/jars/lakesieve-spark-{version.jar}.jar" for version in SPARK_VERSIONS}
    assert names == sources | jars
    assert [name for name in names if name.endswith(".java")] == []
    (source,) = built.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        members = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE"} <= members
    assert {"tools/build_jars.py", "tools/hatch_jars.py", "jvm/pom.xml", "jvm/mvnw"} <= members
    assert {f"src/{name}" for name in sources} <= members
    assert [name for name in members if name.endswith(".jar") or "/target/" in name] == []


def test_source_without_compiler(built: Path, tmp_path: Path) -> None:
    """Where there is no JDK, building from the source distribution says what to install."""
    (source,) = built.glob("*.tar.gz")
    done = subprocess.run(
        [UV, "build", "--wheel", "--out-dir", str(tmp_path), str(source)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"JAVA_HOME": str(tmp_path / "jre")},
    )
    assert done.returncode != 0
    assert "there is no Java compiler" in done.stderr
    assert "Install a JDK 17" in done.stderr
    assert "Traceback" not in done.stderr


# to install from source compiles the jars
@pytest.mark.parametrize("kind", ["*.whl", pytest.param("*.tar.gz", marks=pytest.mark.soak)])
def test_installed(built: Path, tmp_path: Path, kind: str) -> None:
    """The command line works without any extra, says which one is missing, and has the jars."""
    (file,) = built.glob(kind)
    scripts = installed(tmp_path, str(file))
    assert "advise" in run(str(scripts / "lakesieve"), "--help", cwd=tmp_path)
    done = subprocess.run(
        [str(scripts / "lakesieve"), "demo"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 1
    assert "pip install" in done.stderr
    assert "Traceback" not in done.stderr
    copying = (str(scripts / "lakesieve"), "spark-jar", "--spark", "3.5", "--output", "copy.jar")
    run(*copying, cwd=tmp_path)
    with zipfile.ZipFile(tmp_path / "copy.jar") as archive:
        assert "lakesieve/LakesieveExtensions.class" in archive.namelist()


@pytest.mark.soak
def test_example_and_demo(built: Path, tmp_path: Path) -> None:
    """In an empty environment the README's example and a small demo run from the wheel."""
    (wheel,) = built.glob("*.whl")
    scripts = installed(tmp_path, f"lakesieve[demo,iceberg] @ {wheel.as_uri()}")
    first, second = [block.text for block in blocks_of("README.md") if block.language == "python"]
    (tmp_path / "example.py").write_text(f"{first}\nspark.stop()\n{second}")
    printed = run(str(scripts / "python"), "example.py", cwd=tmp_path)
    assert re.search(r"\nlake\.shop\.orders +100 +1 ", printed)
    page = tmp_path / "demo.html"
    shown = run(
        str(scripts / "lakesieve"), "demo", "--scale", "0.01", "--html", str(page), cwd=tmp_path
    )
    assert "answers equal" in shown
    assert page.stat().st_size < 500_000


@pytest.mark.soak
@pytest.mark.parametrize("version", ["3.11", "3.13"])
def test_tutorial(built: Path, tmp_path: Path, version: str) -> None:
    """Typed from the wheel in an empty environment, the tutorial prints what its page shows."""
    (wheel,) = built.glob("*.whl")
    packages = (f"lakesieve[spark] @ {wheel.as_uri()}", "pyspark==4.1.*")
    scripts = installed(tmp_path, *packages, python=version)
    page = ROOT / "docs" / "tutorial.md"
    command = (str(scripts / "python"), str(ROOT / "tests" / "doc_outputs.py"), str(page))
    printed = json.loads(run(*command, cwd=tmp_path).splitlines()[-1])
    shown = [output for _, output in expected_of(page)]
    assert list(map(comparable, printed)) == list(map(comparable, shown))
