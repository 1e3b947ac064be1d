"""The latest queries of a table, from a log and the table itself, without Spark."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hypothesis import given
from tests.advisor.test_condition import KINDS, conditions
from tests.advisor.test_event_log import query, scan
from tests.engines.tables import index_of
from tests.report.pages import FILES, folder_of_keys
from typer.testing import CliRunner

from lakesieve.advisor.condition import read_condition
from lakesieve.advisor.recent import shape_of
from lakesieve.api import recent_queries
from lakesieve.cli.app import build_app
from lakesieve.tables.opening import open_table

if TYPE_CHECKING:
    from pathlib import Path

    from lakesieve.predicate.expression import Expr


def logged(folder: Path, data: Path, *texts: str) -> str:
    """A log of queries of a directory."""
    events = []
    for number, text in enumerate(texts):
        read = scan("parquet ") | {
            "nodeName": "Scan parquet ",
            "metadata": {"Location": f"InMemoryFileIndex(1 paths)[file:{data}]"},
        }
        plan = {"nodeName": "Filter", "simpleString": f"Filter {text}", "children": [read]}
        events += query(number, plan)
    folder.mkdir()
    (folder / "app-1").write_text("\n".join(map(json.dumps, events)))
    return str(folder)


def test_what_indexes_leave(tmp_path: Path) -> None:
    """Queries come newest first, with the files that they read and those that an index leaves."""
    data = folder_of_keys(tmp_path / "t")
    index_of(open_table(f"parquet:{data}"), "key", covers=lambda _: True)
    logs = logged(tmp_path / "logs", data, "(key#1L = 77)", "(upper(x#2) = A)", "(key#1L < 0)")
    found = recent_queries(f"parquet:{data}", [logs])
    assert [query.left for query in found.queries] == [0, FILES, 2]
    assert [query.read for query in found.queries] == [5, 5, 5]
    assert [query.indexes for query in found.queries] == [("key",), (), ("key",)]
    assert [query.shape for query in found.queries] == ["key < ?", "...", "key = ?"]
    page = tmp_path / "page.html"
    command = ["report", f"parquet:{data}", "--html", str(page), "--event-log", logs, "--redact"]
    done = CliRunner().invoke(build_app(), command)
    assert done.exit_code == 0, done.output
    text = page.read_text("utf-8")
    assert "key = ?" in text
    assert "77)" not in text


@given(conditions)
def test_shapes_have_no_values(drawn: tuple[str, Expr]) -> None:
    """A condition's shape does not depend on the values that it compares with."""
    printed, _ = drawn
    shape = shape_of(read_condition(printed, KINDS))
    allowed = {"k", "s", "AND", "OR", "NOT", "IN", "IS", "NULL", "LIKE", "values", "True", "False"}
    words = shape.replace("(", " ").replace(")", " ").split()
    assert {word for word in words if word.isalpha()} <= allowed
    assert {word for word in words if word.isdecimal()} <= set(map(str, range(10)))
