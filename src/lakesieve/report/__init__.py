"""Renderers of the result models: text for a terminal, JSON for programs.

A command makes a result and prints nothing; what is shown, and where, is decided here.
"""

from __future__ import annotations

from lakesieve.report.build_bar import BuildBar, progress_line
from lakesieve.report.command_results import (
    AbsentKeys,
    DroppedIndex,
    DuplicateKeys,
    Explanation,
    IndexCheck,
    ServerCheck,
    WrittenPage,
)
from lakesieve.report.document import to_document, to_json
from lakesieve.report.maintenance_text import step_line
from lakesieve.report.output import Output
from lakesieve.report.result_text import to_text

__all__ = [
    "AbsentKeys",
    "BuildBar",
    "DroppedIndex",
    "DuplicateKeys",
    "Explanation",
    "IndexCheck",
    "Output",
    "ServerCheck",
    "WrittenPage",
    "progress_line",
    "step_line",
    "to_document",
    "to_json",
    "to_text",
]
