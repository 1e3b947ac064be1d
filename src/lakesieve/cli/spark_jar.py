"""The command that writes the jar for sessions without Python."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lakesieve.cli.command import WITHOUT_SESSION, Run, command

if TYPE_CHECKING:
    from lakesieve.spark.extension.result import JarInfo

__all__ = ["SPARK_JAR"]


@command("spark-jar", WITHOUT_SESSION)
def spark_jar(
    run: Run,
    output: Annotated[
        Path, typer.Option(dir_okay=False, metavar="FILE", help="The file to write.")
    ] = Path("lakesieve-spark.jar"),
) -> JarInfo:
    """Write the jar with which any Spark session skips files: Connect, Thrift, Scala, spark-sql."""
    from lakesieve.cli.session import quietly
    from lakesieve.spark.extension.jar import write_jar

    run.output.say("Compiling for the installed Spark (the first time downloads the formats) ...")
    return quietly(lambda: write_jar(output), debug=run.debug)


SPARK_JAR = (spark_jar,)
"""The commands."""
