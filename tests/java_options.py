"""How the JVMs of the tests are started: each lives for minutes, several for seconds."""

from __future__ import annotations

import sys
from pathlib import Path

__all__ = ["ARCHIVE", "submit_arguments"]

# Spark's classes, parsed; python -m tests.spark.archive writes it
ARCHIVE = Path(sys.prefix) / "classes.jsa"

# the second compiler would cost more than it saves. Without it the room for compiled code is small,
# and the JVM sweeps it instead of running tests. To verify the classes of Spark's own jars is a
# quarter of what starting it takes. Hudi's measuring of object sizes starts a JVM of its own where
# it may. An archive of another Java, or of other jars, is passed over
_OPTIONS = (
    "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=512m -XX:-UseCodeCacheFlushing "
    "-XX:+UseSerialGC -Xmn512m -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote "
    "-Djol.skipHotspotSAAttach=true -Xlog:cds=off -Xlog:cds+dynamic=off"
)


def submit_arguments(*options: str) -> str:
    """What PySpark starts Java with, these options of Java besides those of every test."""
    return (
        f"--conf 'spark.driver.defaultJavaOptions={' '.join((_OPTIONS, *options))}' pyspark-shell"
    )
