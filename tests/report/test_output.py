"""Where results go, and in what width."""

from __future__ import annotations

import contextlib
import io

import pytest
from rich.console import Console

from lakesieve.index.result import FileMatches, RefreshResult
from lakesieve.report.command_results import Explanation
from lakesieve.report.output import Output


def test_names_are_no_markup() -> None:
    """A name with brackets is shown as it is."""
    change = RefreshResult(
        index="a[b] [red]c[/red]",
        table="t",
        versions=("1",),
        files=1,
        rows=1,
        covered=0,
        commit=1,
        compacted=False,
        dry_run=False,
    )
    file = io.StringIO()
    with contextlib.redirect_stdout(file):
        Output(json=False).result([change])
    assert file.getvalue().splitlines()[1].startswith("a[b] [red]c[/red]")


@pytest.mark.parametrize("terminal", [False, True], ids=["file", "terminal"])
def test_no_result_breaks_a_path(terminal: bool) -> None:
    """Facts and lists leave long paths whole: in one line of a file, unbroken on a terminal."""
    path = "s3://bucket/" + "x" * 300 + "/part 1.parquet"
    found = FileMatches(
        paths=[path],
        total=2,
        left_by_format=2,
        uncovered=0,
        reasons=(),
        version="1",
        table=f"iceberg:{path}",
        predicate="id = 5",
        indexes=(),
    )
    file = io.StringIO()
    console = Console(file=file, width=80, force_terminal=terminal, color_system=None)

    Output(json=False, stdout=console).result(Explanation(found=found))

    names = path.split(" ") if terminal else [f"iceberg:{path}", path]
    assert [name for name in names if name not in file.getvalue()] == []
    assert not terminal or max(map(len, file.getvalue().splitlines())) < 350
