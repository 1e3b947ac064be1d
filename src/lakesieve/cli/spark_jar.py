"""The command that writes the jar for sessions without Python."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lakesieve.cli.command import WITHOUT_SESSION, Run, command

if TYPE_CHECKING:
    from lakesieve.spark.extension.result import JarInfo


@command("spark-jar", WITHOUT_SESSION)
def spark_jar(
    _run: Run,
    output: Annotated[
        Path, typer.Option(dir_okay=False, metavar="FILE", help="The file to write.")
    ] = Path("lakesieve-spark.jar"),
    spark: Annotated[
        str | None,
        typer.Option(
            metavar="VERSION",
            help="The session's Spark, such as 4.1; by default the installed one.",
        ),
    ] = None,
) -> JarInfo:
    """Write the jar with which any Spark session skips files: Connect, Thrift, Scala, spark-sql."""
    from lakesieve.spark.extension.jar import write_jar

    return write_jar(output, spark=spark)


SPARK_JAR = (spark_jar,)
"""The commands."""
