"""The pages in a real browser: nothing fetched, said or cut off, in light and in dark."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.engines.tables import index_of
from tests.report.browser import WIDTHS, opened
from tests.report.pages import advice, demo, folder_of_keys, recent

from lakesieve.api import table_overview
from lakesieve.report.advice import advice_page
from lakesieve.report.demo import demo_page
from lakesieve.report.page import report_page
from lakesieve.tables.contract import DeleteCounts
from lakesieve.tables.opening import open_table

# LAKESIEVE_SHOTS=FOLDER keeps pictures of all pages, to be looked at
SHOTS = os.environ.get("LAKESIEVE_SHOTS")
PAPER = {False: "rgb(255, 255, 255)", True: "rgb(18, 23, 29)"}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A report with all that there can be in one, one without an index, advice, and the demo."""
    base = tmp_path_factory.mktemp("pages")
    data = folder_of_keys(base / "t")
    opened_table = open_table(f"parquet:{data}")
    for column in ("key", "sorted", "same"):
        index_of(opened_table, column, covers=lambda path: "/03.parquet" not in path)
    overview = table_overview(f"parquet:{data}")
    deletes = DeleteCounts(files=12, equality=4_000_000, positions=17)
    long = replace(overview, table="catalog." + "a_very_long_name_of_a_table_" * 6, deletes=deletes)
    made = {
        "report": report_page(long, recent=recent()),
        "redacted": report_page(overview, recent=recent(), redact=True),
        "empty": report_page(replace(overview, indexes=(), files=0)),
        "advice": advice_page([advice(), replace(advice(), columns=(), files=0)]),
        "demo": demo_page(demo(), overview),
    }
    found = []
    for name, text in made.items():
        found.append(base / f"{name}.html")
        found[-1].write_text(text, encoding="utf-8")
    return found


@pytest.fixture(scope="module", params=[False, True], ids=["light", "dark"])
def looks(pages: list[Path], request: pytest.FixtureRequest) -> list[dict[str, Any]]:
    """What the browser saw of each."""
    return opened(pages, dark=request.param, shots=Path(SHOTS) if SHOTS else None)


def test_pages_are_whole_by_themselves(pages: list[Path], looks: list[dict[str, Any]]) -> None:
    """No request but the page's own, no message of the console, text and pictures."""
    assert len(looks) == len(pages) * len(WIDTHS)
    assert all(page.stat().st_size < 500_000 for page in pages)
    for look in looks:
        assert (look["requests"], look["messages"]) == ([], []), look["page"]
        assert look["text"] > 100
        assert all(height > 5 for height in look["pictures"]), look
    # one of them is the logo
    with_pictures = [look for look in looks if len(look["pictures"]) > 1]
    assert len(with_pictures) == 4 * len(WIDTHS)


def test_nothing_is_cut_off(looks: list[dict[str, Any]]) -> None:
    """On a wide screen and on a telephone."""
    for look in looks:
        assert look["room"] == look["width"]
        assert look["wide"] <= look["room"], look
        assert look["clipped"] == [], look["page"]


def test_colours(looks: list[dict[str, Any]]) -> None:
    """Follow what the reader prefers."""
    for look in looks:
        assert look["paper"] == PAPER[look["dark"]]
        assert look["ink"] != look["paper"]
