"""Renderers of the result models: text for a terminal, JSON for programs.

A command makes a result and prints nothing; what is shown, and where, is decided here.
"""

from __future__ import annotations

from lakesieve.report.document import to_document, to_json
from lakesieve.report.maintenance import step_line
from lakesieve.report.output import Output
from lakesieve.report.progress import BuildBar, progress_line
from lakesieve.report.result import (
    Checked,
    Dropped,
    DuplicateKeys,
    Explained,
    KeysFound,
    PageWritten,
    ServerCheck,
)
from lakesieve.report.text import to_text

__all__ = [
    "BuildBar",
    "Checked",
    "Dropped",
    "DuplicateKeys",
    "Explained",
    "KeysFound",
    "Output",
    "PageWritten",
    "ServerCheck",
    "progress_line",
    "step_line",
    "to_document",
    "to_json",
    "to_text",
]
