"""Where results, messages and errors go: stdout is for data, stderr for messages."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rich.console import Console
from rich.measure import Measurement

from lakesieve.printable import printable
from lakesieve.report.build_bar import BuildBar
from lakesieve.report.document import to_json
from lakesieve.report.result_text import to_text
from lakesieve.report.safe_console import printing_safely

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from rich.console import RenderableType

_PLAIN_WIDTH = 110
_MAX_WIDTH = 100_000


class Output:
    """The two streams of one command."""

    def __init__(
        self, *, json: bool, stdout: Console | None = None, stderr: Console | None = None
    ) -> None:
        self.json = json
        # names and literals are no markup
        self._stdout = printing_safely(stdout or Console(file=sys.stdout, markup=False))
        self._stderr = printing_safely(stderr or Console(file=sys.stderr))

    def result(self, result: object) -> None:
        """Write a result model to stdout."""
        if self.json:
            self._stdout.file.write(to_json(result) + "\n")
            return
        text = to_text(result)
        if not isinstance(text, str):
            self._stdout.width = self._width(text)
            self._stdout.print(text, highlight=False, crop=False)
        elif text:
            self._stdout.file.write(printable(text) + "\n")

    def _width(self, text: RenderableType) -> int:
        """Return the columns in which no path or name is broken, and outside a terminal no line."""
        options = self._stdout.options.update(max_width=_MAX_WIDTH)
        needed = Measurement.get(self._stdout, options, text)
        if self._stdout.is_terminal:
            return max(self._stdout.width, needed.minimum)
        return max(_PLAIN_WIDTH, needed.maximum)

    def say(self, message: str) -> None:
        """Say something to the person in front of the terminal."""
        self._stderr.print(message, style="dim", highlight=False, markup=False, soft_wrap=True)

    def building(self, title: str) -> AbstractContextManager[BuildBar]:
        """Open a progress bar for one build."""
        return BuildBar(self._stderr, title)

    def error(self, message: str) -> None:
        """Say in one line what went wrong."""
        line = " ".join(message.split())
        self._stderr.print("[bold red]error:[/] ", end="")
        self._stderr.print(line, highlight=False, markup=False, soft_wrap=True)
