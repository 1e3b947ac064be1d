"""The jar that has any session of one version of Spark skip files."""

from __future__ import annotations

import io
import zipfile
from contextlib import contextmanager, nullcontext
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from lakesieve.errors import not_installed
from lakesieve.spark.extension.result import JarInfo
from lakesieve.spark.rule.sources import ADAPTERS
from lakesieve.spark.session.local import check_java, packages_conf
from lakesieve.spark.tables.registry import formats_of
from lakesieve.spark.versions.janino import JavaSources
from lakesieve.spark.versions.spark_versions import spark_version_of
from lakesieve.storage import write_file

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator

    from pyspark.sql import SparkSession

    from lakesieve.spark.tables.formats import FormatSpec

__all__ = ["bare_jvm", "jar_sources", "write_jar"]

_SOURCES = tuple(
    f"spark/extension/{name}"
    for name in (
        *("CompanionProcess", "Companion", "SessionPlanner", "SessionRule", "LastPruning"),
        "LakesieveExtensions",
    )
)
# the earliest that a zip file can have: equal jars are equal bytes
_WRITTEN = (1980, 1, 1, 0, 0, 0)


def write_jar(
    path: str | os.PathLike[str] = "lakesieve-spark.jar", *, spark: SparkSession | None = None
) -> JarInfo:
    """Write the jar for sessions of the installed PySpark's version, on any cluster.

    Its classes are compiled by Spark's own compiler, in a JVM with the runtimes of all formats,
    which Spark resolves from Maven Central as for a session. Written again it is the same bytes.

    Args:
        path: The file; one that is there is replaced.
        spark: A session with the runtimes of all formats, to compile in instead.

    Raises:
        SetupError: Java 17 or newer, or PySpark, is missing.
        UnsupportedError: This PySpark is of no supported version.
        StorageError: The file cannot be written.
    """
    with bare_jvm() if spark is None else nullcontext(spark) as jvm:
        version = spark_version_of(jvm.version)
        specs = formats_of(version)
        classes = JavaSources(*jar_sources(specs)).classes(jvm)
    content = _zipped(classes, specs, version.name)
    target = Path(path)
    write_file(target, content, option="--output")
    return JarInfo(
        path=str(target.absolute()),
        spark=version.name,
        formats=tuple(sorted(spec.name for spec in specs)),
        classes=len(classes),
        size=len(content),
    )


@contextmanager
def bare_jvm() -> Iterator[Any]:
    """A JVM with the runtimes of all formats, without a session.

    Yields:
        What :class:`JavaSources` needs of a session.

    Raises:
        SetupError: Java 17 or newer, or PySpark, is missing.
        UnsupportedError: This PySpark is of no supported version.
    """
    check_java()
    try:
        import pyspark
        from pyspark.java_gateway import launch_gateway
    except ImportError as error:
        raise not_installed("PySpark is not installed.", "spark") from error
    version = spark_version_of(pyspark.__version__)
    settings = packages_conf(version, formats_of(version))
    conf = SimpleNamespace(getAll=lambda: list(settings.items()))
    gateway: Any = launch_gateway(conf=conf)  # type: ignore[no-untyped-call]
    context = _Context()
    context._gateway = gateway
    try:
        yield SimpleNamespace(_jvm=gateway.jvm, version=pyspark.__version__, sparkContext=context)
    finally:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait()


class _Context:
    """What the sources need of a ``SparkContext``, by which they are known."""

    _gateway: Any


def jar_sources(specs: Iterable[FormatSpec]) -> list[str]:
    """The Java sources of all that is in the jar.

    Args:
        specs: The formats.
    """
    of_formats = (
        name for spec in specs for name in (*spec.scan_sources, spec.rule_extension) if name
    )
    return list(dict.fromkeys((*ADAPTERS, *of_formats, *_SOURCES)))


def _zipped(classes: dict[str, bytes], specs: list[FormatSpec], version: str) -> bytes:
    lines = (
        f"{spec.runtime} lakesieve.{spec.scans}"
        + f" lakesieve.{Path(spec.rule_extension).name}" * bool(spec.rule_extension)
        for spec in specs
    )
    manifest = {
        "Manifest-Version": "1.0",
        "Implementation-Title": "lakesieve",
        "Implementation-Version": metadata.version("lakesieve"),
        "Spark-Version": version,
    }
    entries = {
        "META-INF/MANIFEST.MF": "".join(f"{k}: {v}\r\n" for k, v in manifest.items()) + "\r\n",
        "lakesieve/formats.txt": "".join(f"{line}\n" for line in lines),
    }
    content = {name: text.encode("utf-8") for name, text in entries.items()}
    content |= {f"{name.replace('.', '/')}.class": classes[name] for name in sorted(classes)}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as jar:
        for name, data in content.items():
            entry = zipfile.ZipInfo(name, _WRITTEN)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            jar.writestr(entry, data)
    return buffer.getvalue()
