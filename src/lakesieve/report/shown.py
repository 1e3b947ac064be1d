"""Results in a shell and in a notebook: the text of the command line, without a terminal."""

from __future__ import annotations

from io import StringIO

from rich.console import Console, RenderableType
from rich.measure import Measurement
from rich.text import Text

from lakesieve.advisor.result import TableAdvice
from lakesieve.index.maintenance import TableMaintenance
from lakesieve.index.result import FileMatches, IndexInfo
from lakesieve.report.command_results import Explanation
from lakesieve.report.result_text import TABLES, to_text
from lakesieve.report.safe_console import printing_safely

_WIDTH, _MAX_WIDTH = 100, 100_000
# rows of a table, also if there is only one; one index alone is shown in lines
_ROWS = (*(kind for kind in TABLES if kind is not IndexInfo), TableAdvice, TableMaintenance)
_PAGE = '<pre style="white-space: pre; overflow-x: auto; line-height: normal">{code}</pre>'


def plain(result: object) -> str:
    """Return a result as lines of text."""
    console = _printed(result)
    return "\n".join(line.rstrip() for line in console.export_text().rstrip().splitlines())


def html(result: object) -> str:
    """Return a result as a fragment of HTML, everything in it escaped."""
    return _printed(result).export_html(code_format=_PAGE, inline_styles=True)


def _printed(result: object) -> Console:
    """Return a console that has recorded a result, no line of it broken."""
    shown = _shown(result)
    console = Console(file=StringIO(), width=_WIDTH, record=True, force_jupyter=False, markup=False)
    options = console.options.update(max_width=_MAX_WIDTH)
    console.width = max(_WIDTH, Measurement.get(console, options, shown).maximum)
    printing_safely(console).print(shown, highlight=False)
    return console


def _shown(result: object) -> RenderableType:
    # the command line writes paths alone, one a line, for other programs
    known = Explanation(found=result) if isinstance(result, FileMatches) else result
    if isinstance(known, _ROWS):
        known = [known]
    return to_text(known) or Text("none", style="dim")
