"""Build the jars of jvm/ into the package, one for each version of Spark, where sources changed.

    python tools/build_jars.py [--only-jar] [VERSION ...]

A JDK 17 or newer is needed. The wrapper ``jvm/mvnw`` downloads Maven, and Maven downloads the
libraries to compile against. ``--only-jar`` skips the unit tests and the helpers of the Python
tests, and tolerates warnings of newer compilers.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
MODULE = ROOT / "jvm"
TARGET = MODULE / "target"
JARS = ROOT / "src" / "lakesieve" / "spark" / "jars"
TABLE = ROOT / "src" / "lakesieve" / "spark" / "versions" / "spark_versions.py"


def versions() -> list[str]:
    """The versions of Spark that have a jar: those with a profile in the POM, newest first."""
    return re.findall(r"<id>spark-([\d.]+)</id>", (MODULE / "pom.xml").read_text("utf-8"))


def tested_on(jar: str) -> str:
    """The versions of Spark that a jar was tested on, as its manifest has them.

    The jar of the newest version also says that it may be tried on newer ones.
    """
    table = re.findall(r'SparkVersion\(name="([\d.]+)", jar="([\d.]+)"', TABLE.read_text("utf-8"))
    names = [name for name, of_jar in table if of_jar == jar]
    return " ".join(names + ["newer"] * (jar == table[0][1]))


def check_compiler() -> None:
    """Check that there is a JDK.

    Raises:
        RuntimeError: There is none.
    """
    home = os.environ.get("JAVA_HOME")
    javac = str(Path(home) / "bin" / "javac") if home else "javac"
    if shutil.which(javac) is None:
        place = f"JAVA_HOME is {home}, which holds no bin/javac" if home else "no javac on the PATH"
        raise RuntimeError(
            f"lakesieve's jars for Spark are compiled from source, and there is no Java compiler: "
            f"{place}. Install a JDK 17 or newer (Debian, Ubuntu: openjdk-17-jdk-headless; macOS: "
            "brew install temurin@21), or install a wheel of lakesieve, which needs none."
        )


def build(version: str, *, only_jar: bool = False) -> Path:
    """Build the jar for a version of Spark, unless it was built from the present sources.

    Args:
        version: Major and minor version, such as ``4.1``.
        only_jar: Whether to skip the unit tests and the helpers of the Python tests.

    Returns:
        The jar in the package.

    Raises:
        RuntimeError: There is no Java compiler, or it fails.
    """
    name = f"lakesieve-spark-{version}"
    jar = JARS / f"{name}.jar"
    made = [jar] if only_jar else [jar, TARGET / f"spark-{version}" / f"{name}-tests.jar"]
    if _are_built(made, _sources(version)):
        return jar
    check_compiler()
    with _lock():
        # read again: another process may have built them meanwhile, from newer sources
        sources = _sources(version)
        if not _are_built(made, sources):
            sys.stderr.write(f"Building {jar.name} ...\n")
            for file in made:
                _record_of(file).unlink(missing_ok=True)
            _package(version, jar, only_jar=only_jar)
            for file in made:
                _record_of(file).write_text(sources, "utf-8")
    return jar


def _package(version: str, jar: Path, *, only_jar: bool) -> None:
    """Run Maven, and copy its jar into the package."""
    output = TARGET / f"spark-{version}"
    # classes of sources that are gone would be packed, too
    for folder in ("classes", "test-classes"):
        shutil.rmtree(output / folder, ignore_errors=True)
    command = [str(MODULE / ("mvnw.cmd" if os.name == "nt" else "mvnw")), "-B", "package"]
    command += [f"-Pspark-{version}", *_properties(version)]
    # warnings are shown where they make the build fail
    command += ["--no-transfer-progress", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"]
    if only_jar:
        command += ["-Dmaven.test.skip=true", "-Dmaven.compiler.failOnWarning=false"]
    run = subprocess.run(command, cwd=MODULE, check=False, text=True, capture_output=True)
    if run.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{run.stdout}{run.stderr}")
    JARS.mkdir(exist_ok=True)
    part = jar.with_suffix(".part")
    shutil.copyfile(output / jar.name, part)
    part.replace(jar)


def _are_built(made: list[Path], sources: str) -> bool:
    """Whether files exist and were built from these sources."""
    return all(
        file.is_file() and _record_of(file).is_file() and _record_of(file).read_text() == sources
        for file in made
    )


def _record_of(file: Path) -> Path:
    """The file that says which sources a file was built from."""
    return TARGET / f"{file.name}.sources"


def _properties(version: str) -> list[str]:
    """What the POM is told from outside, for the jar of a version of Spark."""
    return [f"-Drevision={_own_version()}", f"-Dspark.tested={tested_on(version)}"]


def _sources(version: str) -> str:
    """A digest of all that the jar for a version of Spark is built from."""
    digest = hashlib.sha256("\0".join(_properties(version)).encode())
    files = sorted(file for file in (MODULE / "src").rglob("*") if file.is_file())
    for file in (MODULE / "pom.xml", *files):
        content = file.read_bytes()
        digest.update(f"{file.relative_to(MODULE).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


@contextlib.contextmanager
def _lock() -> Iterator[None]:
    """Keep other processes from building at the same time."""
    TARGET.mkdir(exist_ok=True)
    with (TARGET / ".lock").open("w") as file:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)  # released when the file is closed
        yield


def _own_version() -> str:
    text = (ROOT / "src" / "lakesieve" / "version.py").read_text("utf-8")
    found = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    assert found is not None
    return found[1]


def main(arguments: list[str]) -> int:
    """Build what the command line names, or all."""
    only_jar = "--only-jar" in arguments
    named = [argument for argument in arguments if argument != "--only-jar"]
    known = versions()
    unknown = [version for version in named if version not in known]
    if unknown:
        known_ones = ", ".join(known)
        sys.stderr.write(f"error: no jar for Spark {unknown[0]}, only for {known_ones}\n")
        return 2
    try:
        for version in named or known:
            build(version, only_jar=only_jar)
    except RuntimeError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
