"""Coded reasons in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.engines.tables import index_of
from tests.report.pages import folder_of_keys

import lakesieve as ls
from lakesieve.index import Reason, ReasonCode
from lakesieve.tables.opening import open_table

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("code", ReasonCode)
def test_each_code_has_words(code: ReasonCode) -> None:
    """One sentence with the detail in it, and one or two sentences of what to do."""
    reason = Reason(code=code, detail="the detail")
    assert reason.sentence.endswith(": the detail.")
    assert reason.sentence[0].isupper()
    step = reason.next_step("lake.db.t")
    assert step == "" or (step[0].isupper() and step[-1] == ".")
    assert "TABLE" not in step
    assert str(reason) == f"{code}: {reason.sentence} {reason.next_step()}".strip()


@pytest.mark.parametrize(
    ("predicate", "words"),
    [
        ("abs(key) = 5", "abs(key) = 5 applies a function to the indexed column key"),
        ("key % 2 = 0", "key % 2 = 0 does not compare key with constants of its type"),
        ("key = same", "key = same does not compare key with constants of its type"),
        ("same = 1", "no condition on key"),
    ],
)
def test_why_no_index_answers(tmp_path: Path, predicate: str, words: str) -> None:
    """The part of the condition that names an indexed column is quoted."""
    table = open_table(f"parquet:{folder_of_keys(tmp_path / 't')}")
    index_of(table, "key", covers=lambda _: True)

    found = ls.find_files(table.name, predicate)

    (reason,) = [r for r in found.reasons if r.code is ReasonCode.NO_USABLE_PREDICATE]
    assert words in reason.detail
