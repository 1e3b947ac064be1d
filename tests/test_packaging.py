"""The wheel and the source distribution: built, installed where nothing else is, and used."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from tests.depth import SOAK
from tests.doc_blocks import ROOT, blocks_of

UV = str(Path(sys.executable).with_name("uv"))


def run(*command: str, cwd: Path) -> str:
    """Run a command in an environment without this one."""
    known = {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=cwd, env=known, timeout=900
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both."""
    folder = tmp_path_factory.mktemp("dist")
    run(UV, "build", "--quiet", "--out-dir", str(folder), cwd=ROOT)
    return folder


def installed(folder: Path, what: str) -> Path:
    """The scripts of an empty environment into which something was installed."""
    run(UV, "venv", "--quiet", "--python", sys.executable, str(folder / "env"), cwd=folder)
    python = str(folder / "env" / "bin" / "python")
    run(UV, "pip", "install", "--quiet", "--python", python, what, cwd=folder)
    return folder / "env" / "bin"


def test_what_they_hold(built: Path) -> None:
    """All that runs, Java sources and templates too; no tests, no data."""
    (wheel,) = built.glob("*.whl")
    sources = {
        str(path.relative_to(ROOT / "src"))
        for path in (ROOT / "src" / "lakesieve").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert names == sources
    (source,) = built.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        members = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE"} <= members
    assert {f"src/{name}" for name in sources} <= members


@pytest.mark.parametrize("kind", ["*.whl", "*.tar.gz"])
def test_installed(built: Path, tmp_path: Path, kind: str) -> None:
    """The command line works without any extra, and says which one is missing."""
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


@pytest.mark.skipif(not SOAK, reason="in depth: installs Spark once more")
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
    assert "the same with skipping on" in shown
    assert page.stat().st_size < 500_000
