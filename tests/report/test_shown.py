"""Results in a shell and in a notebook: readable, and nothing in them is taken for markup."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from lakesieve.index import FileMatches, Reason, ReasonCode, RefreshResult, ShownList, TablePruning
from lakesieve.index.result import TradeOffInfo

HOSTILE = "<script>alert(1)</script> [red]x[/red] &amp;"
SCAN = TablePruning(
    table="lake.shop.orders",
    files_total=4000,
    files_read=3,
    uncovered=1,
    indexes=("customer",),
    reasons=(Reason(code=ReasonCode.INDEX_USED, detail="customer"),),
    predicate="customer = 7",
)
FOUND = FileMatches(
    paths=["s3://b/a.parquet", "s3://b/b.parquet"],
    total=40,
    left_by_format=40,
    uncovered=0,
    reasons=SCAN.reasons,
    version="7",
    table="lake.shop.orders",
    predicate="customer = 7",
    indexes=("customer",),
)
ROWS = (
    SCAN,
    RefreshResult(
        index="customer",
        table="lake.shop.orders",
        versions=("7",),
        files=2,
        rows=10,
        covered=3,
        commit=4,
        compacted=False,
        dry_run=False,
    ),
    TradeOffInfo(bits_per_row=1.5, false_files=2.0, strategy="exact", blocks=3),
)


def test_scans_are_a_small_table() -> None:
    """One line a scan below the headings, as text and in the answer of a shell."""
    shown = repr(ShownList([SCAN, replace(SCAN, files_read=4000, indexes=())]))
    head, first, second = shown.splitlines()
    assert head.split() == [
        "table",
        "files",
        "read",
        "not",
        "indexed",
        "index",
        "condition",
        "reasons",
    ]
    assert first.split()[:5] == ["lake.shop.orders", "4,000", "3", "1", "customer"]
    assert second.split()[2:5] == ["4,000", "1", "none"]
    assert [line.split() for line in str(SCAN).splitlines()] == [head.split(), first.split()]
    assert str(ShownList([SCAN])) == str(SCAN)
    assert ShownList([SCAN]) == [SCAN]
    assert repr(ShownList()) == "none"


def test_scans_of_row_blocks() -> None:
    """If rows are skipped, the table says how many rows of these files are read."""
    rows = replace(SCAN, rows_total=5000, rows_read=100)
    head, first, second = repr(ShownList([rows, SCAN])).splitlines()
    assert head.split()[4:8] == ["indexed", "rows", "read", "index"]
    assert "100 of 5,000 rows  customer" in first
    assert second.split()[3:6] == ["1", "all", "customer"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: type(row).__name__)
def test_one_row_and_many(row: object) -> None:
    """A result that is a row of a table is shown alone, too."""
    alone, both = str(row), repr(ShownList([row, row]))
    assert len(alone.splitlines()) == 2
    assert both.splitlines() == [*alone.splitlines(), alone.splitlines()[-1]]


@pytest.mark.parametrize(
    "result",
    [replace(SCAN, predicate=HOSTILE, table=HOSTILE), replace(FOUND, predicate=HOSTILE)],
    ids=["scan", "found"],
)
def test_nothing_is_markup(result: TablePruning | FileMatches) -> None:
    """Names and literals of a query are text, whatever they hold."""
    html = result._repr_html_()
    assert "<script" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt; [red]x[/red] &amp;amp;" in html
    assert html.startswith("<pre ")
    assert HOSTILE in str(result)


def test_files_that_were_found() -> None:
    """A few lines for a person; a notebook shows the files as well."""
    assert str(FOUND).splitlines()[1] == "read 2 of 40 data files (index used: customer)"
    html = FOUND._repr_html_()
    assert "2 of 40 files, 38 skipped" in html
    assert "s3://b/a.parquet" in html


def test_why_not_is_said_in_words() -> None:
    """A reason that has a next step is written out below the table, and by explain."""
    detail = "lower(name) = 'x' applies a function to the indexed column name"
    reasons = (Reason(code=ReasonCode.NO_USABLE_PREDICATE, detail=detail),)
    words = f"No index can answer the condition: {detail}."

    for shown in (str(replace(SCAN, reasons=reasons)), str(replace(FOUND, reasons=reasons))):
        assert words in shown
        assert "Compare an indexed column itself with constants" in shown
    assert words in replace(FOUND, reasons=reasons)._repr_html_().replace("&#x27;", "'")


def test_what_was_looked_up_is_shown() -> None:
    """The part of a predicate that an index answered, where that is not all of it."""
    assert "looked up" not in FOUND._repr_html_()
    partly = replace(FOUND, predicate="customer = 7 AND lower(s) = 'x'", condition="customer = 7")
    assert "looked up" in partly._repr_html_()


def test_what_renders_is_loaded_when_it_is_shown() -> None:
    """An import of the package loads no library for terminals."""
    code = "import sys, lakesieve.index; assert 'rich' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
