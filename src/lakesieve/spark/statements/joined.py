"""The process that runs SQL statements about indexes for a driver without Python.

``JoinedPython.java`` starts ``python -m lakesieve.spark.statements.joined VERSION``. Standard input
has one line, which says how to join the application. The process ends when the driver closes its
standard input.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from importlib import import_module, invalidate_caches
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Mapping

_PORT, _SECRET = "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"
_WORKER = "PYSPARK_PYTHON"


def main() -> NoReturn:
    """Join the application of the driver that started this process, and run its statements."""
    own, wanted = version("lakesieve"), " ".join(sys.argv[1:])
    if wanted != own:
        sys.exit(f"the jar is of lakesieve {wanted}, this one is {own}")
    offer = json.loads(sys.stdin.buffer.readline())
    find_pyspark(offer["spark"], os.environ.get("SPARK_HOME"))
    join_application(offer)
    # statements run in other threads
    sys.stdin.buffer.read()
    os._exit(0)


def find_pyspark(spark: str, home: str | None) -> None:
    """Make sure that this process imports the PySpark version of the driver's Spark.

    If PySpark has another version or is not installed, use the PySpark in the folder of Spark.
    """
    installed = _pyspark_version()
    if installed == spark:
        return
    shipped = Path(home, "python") if home else None
    if shipped is not None and (shipped / "pyspark").is_dir():
        libraries = sorted(map(str, (shipped / "lib").glob("py4j-*-src.zip")))
        sys.path[:0] = [str(shipped), *libraries]
        for name in [name for name in sys.modules if name.split(".")[0] in {"pyspark", "py4j"}]:
            del sys.modules[name]
        invalidate_caches()
        return
    if installed is None:
        sys.exit(f"PySpark is not installed; install it: pip install 'pyspark=={spark}'")
    if installed.split(".")[:2] != spark.split(".")[:2]:
        sys.exit(f"PySpark is {installed}, but Spark is {spark}; pip install 'pyspark=={spark}'")


def _pyspark_version() -> str | None:
    try:
        return str(import_module("pyspark").__version__)
    except ImportError:
        return None


def join_application(offer: Mapping[str, Any]) -> None:
    """Join the application, and offer it the function that runs statements.

    Args:
        offer: ``port`` and ``secret`` of the driver's server for PySpark, and ``python``, the
            interpreter of executors if the application has no setting for it.
    """
    from py4j.java_gateway import JavaClass
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import ensure_callback_server_started, launch_gateway
    from pyspark.sql import SparkSession

    from lakesieve.spark.statements.in_session import STATEMENTS

    # only this process sees them, because they are not in the environment that it was started with
    os.environ |= {_PORT: str(offer["port"]), _SECRET: offer["secret"]}
    try:
        gateway: Any = launch_gateway()  # type: ignore[no-untyped-call]
    finally:
        del os.environ[_PORT], os.environ[_SECRET]
    java_context = JavaClass("org.apache.spark.SparkContext", gateway._gateway_client).getOrCreate()
    make = JavaClass("org.apache.spark.api.java.JavaSparkContext", gateway._gateway_client)
    jsc = make.fromSparkContext(java_context)
    conf = SparkConf(_jconf=jsc.getConf())
    worker = conf.get("spark.pyspark.python", None) or os.environ.get(_WORKER) or offer["python"]
    os.environ[_WORKER] = worker
    context = SparkContext(conf=conf, gateway=gateway, jsc=jsc)
    # PySpark would cancel the jobs of the whole application
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
    join = JavaClass("lakesieve.statements.JoinedPython", gateway._gateway_client).join
    # PySpark makes the first session of a process the default session of the JVM
    SparkSession(context, join(STATEMENTS))


if __name__ == "__main__":
    main()
