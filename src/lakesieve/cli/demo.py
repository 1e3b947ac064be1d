"""The command that shows what skipping files does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lakesieve.cli.command import EVERYWHERE, Run, command

if TYPE_CHECKING:
    from lakesieve.demo.result import DemoResult


@command("demo", EVERYWHERE)
def demo(
    run: Run,
    scale: Annotated[
        float, typer.Option(min=0.001, max=100, help="TPC-H scale factor; 1 is 6 million rows.")
    ] = 1,
    dir: Annotated[  # noqa: A002 -- the option is called --dir
        Path, typer.Option(file_okay=False, help="Where the data is kept for the next run.")
    ] = Path("demo-data"),
    html: Annotated[
        Path | None,
        typer.Option(dir_okay=False, metavar="FILE", help="Write the result as a page, too."),
    ] = None,
) -> DemoResult:
    """Show on TPC-H data what skipping files does: same answers, fewer files, less time."""
    # Spark's side of the package is not needed to show help
    from lakesieve.demo.run import run_demo

    warehouse = str(dir / "warehouse")
    spark = run.session(warehouse)
    result = run_demo(spark, dir, warehouse=warehouse, scale=scale, observer=run.output)
    if html is not None:
        from lakesieve.api import table_overview
        from lakesieve.report.demo import demo_page
        from lakesieve.storage import write_file

        page = demo_page(result, table_overview(result.table, spark=spark))
        write_file(html, page.encode(), option="--html")
        run.output.say(f"Wrote {html}.")
    return result


DEMO = (demo,)
