"""Names and messages that a terminal or a log would obey."""

from __future__ import annotations

import io
import json
import logging

import pytest
from rich.console import Console

from lakesieve.printable import printable, printable_line
from lakesieve.report import Output, to_json
from lakesieve.report.command_results import DroppedIndex
from lakesieve.serve.log_lines import JsonLines, TextLines

UNSAFE = "a\x1b[31mb\x9b2Jc\x07\r\u202ed\u2028e\ud800f\x7f"
SHOWN = r"a\x1b[31mb\x9b2Jc\x07\r\u202ed\u2028e\ud800f\x7f"


def test_escapes() -> None:
    """Whatever a terminal would obey is written out; letters of all languages stay."""
    assert printable(UNSAFE) == SHOWN
    assert printable("línea\n\tرقم 数 👩‍💻") == "línea\n\tرقم 数 👩‍💻"
    assert printable_line("one\nINFO: two\tthree") == r"one\nINFO: two\tthree"


def _output(*, terminal: bool, as_json: bool = False) -> tuple[Output, io.StringIO, io.StringIO]:
    streams = io.StringIO(), io.StringIO()
    out, err = (Console(file=s, force_terminal=terminal, markup=False) for s in streams)
    return Output(json=as_json, stdout=out, stderr=err), *streams


@pytest.mark.parametrize("terminal", [True, False])
def test_what_a_command_writes(terminal: bool) -> None:
    """Results, messages and errors show the characters as escapes, in colours or not."""
    output, out, err = _output(terminal=terminal)
    output.result(DroppedIndex(table=UNSAFE, name="i", dry_run=False))
    output.say(f"Reading {UNSAFE} ...")
    output.error(f"There is no table {UNSAFE}.")
    for said in (out.getvalue(), err.getvalue()):
        # rich itself leaves out a bell
        assert r"a\x1b[31mb\x9b2Jc" in said
        assert not {"\x9b", "\x07", "\u202e", "\ud800", "\x7f"} & set(said)
        assert "\x1b[31mb" not in said


def test_json() -> None:
    """JSON says the same as before in its own escapes, and can be written to any stream."""
    text = to_json(DroppedIndex(table=UNSAFE, name="i", dry_run=False))
    assert json.loads(text)["table"] == UNSAFE
    assert not {"\x1b", "\x9b", "\u202e", "\ud800", "\x7f"} & set(text)


def _record(message: str, error: BaseException | None = None) -> logging.LogRecord:
    exc_info = None if error is None else (type(error), error, error.__traceback__)
    return logging.LogRecord("lakesieve.serve", logging.INFO, "f", 1, message, (), exc_info)


def test_log_lines() -> None:
    """A record is one line, whatever its message holds; an exception's first line is in another."""
    error = ValueError(f"{UNSAFE}\nforged")
    lines = TextLines("%(levelprefix)s %(message)s", use_colors=False)
    said = lines.format(_record(f"planned {UNSAFE}\nINFO: forged", error))
    first, second = said.split("\n")
    assert first.endswith(rf"planned {SHOWN}\nINFO: forged")
    assert second.startswith(f"ValueError: {SHOWN}")
    (line,) = JsonLines().format(_record(f"planned {UNSAFE}\n", error)).splitlines()
    assert line.isascii()
    assert json.loads(line)["message"] == f"planned {UNSAFE}".rstrip()
