"""The report of a table: one page that shows what its indexes do, and trusts nothing in it."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.engines.tables import index_of
from tests.report.pages import FILES, KEYS, advice, folder_of_keys, recent
from typer.testing import CliRunner

import lakesieve as ls
from lakesieve.advisor.recent import RecentQueries
from lakesieve.api import table_overview
from lakesieve.cli.app import build_app
from lakesieve.report.advice import advice_page
from lakesieve.report.page import report_page
from lakesieve.tables.contract import DeleteCounts
from lakesieve.tables.opening import open_table

if TYPE_CHECKING:
    from pathlib import Path

    from lakesieve.index.overview import TableOverview

HOSTILE = "<script>alert(1)</script>\"'&{{ 7 * 7 }}"
VOID = {"meta", "line", "rect", "path", "br"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of random keys, one of which no index has seen."""
    folder = folder_of_keys(tmp_path_factory.mktemp("page") / "t")
    opened = open_table(f"parquet:{folder}")
    index_of(opened, "key", covers=lambda path: "/03.parquet" not in path)
    for column in ("sorted", "same"):
        index_of(opened, column, covers=lambda _: True)
    return folder


@pytest.fixture(scope="module")
def overview(folder: Path) -> TableOverview:
    """What there is to say about it."""
    return table_overview(f"parquet:{folder}")


class Page(HTMLParser):
    """The tags of a page, all of them closed, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID or (self.get_starttag_text() != f"<{tag}>" and tag == "rect"):
            self._open.append(tag)
        if tag in {"meta", "line", "path", "br"}:
            self._open = [one for one in self._open if one != tag]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag that closes itself."""
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        """Close the last tag."""
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Note text."""
        self.text += data


def test_the_layout_is_that_of_the_table(overview: TableOverview, folder: Path) -> None:
    """Of every key how many files have it, and between whose smallest and largest key it is."""
    of = {index.info.name: index.layout for index in overview.indexes}
    key = of["key"]
    assert key is not None
    covered = [np.sort(pq.read_table(path)["key"]) for path in sorted(folder.glob("*.parquet"))]
    del covered[3]
    held = np.array([[value in mine for value in range(KEYS)] for mine in covered])
    present = np.flatnonzero(held.any(axis=0))
    # neighbours in the same files are one block, of which the first key is looked up
    steps = (held[:, present[1:]] != held[:, present[:-1]]).any(axis=0)
    sampled = present[np.concatenate([[True], steps])]
    assert (key.keys, key.files) == (len(sampled), FILES - 1)
    assert key.files_of_key.tolist() == held[:, sampled].sum(axis=0).tolist()
    between = [sum(mine[0] <= value <= mine[-1] for mine in covered) for value in sampled]
    assert key.between.tolist() == between
    assert key.held.shape[0] == FILES - 1
    assert (key.held.sum(axis=1) > 0).all()
    ascending = of["sorted"]
    assert ascending is not None
    assert ascending.between.max() == 1
    assert [(first <= last) for first, last in ascending.spans.tolist()] == [True] * FILES


def test_the_page_is_whole(overview: TableOverview) -> None:
    """It is well-formed, fetches and runs nothing, and says what the indexes do."""
    text = report_page(overview)
    page = Page(text)

    assert len(text) < 500_000
    assert {tag for tag, _ in page.tags}.isdisjoint({"script", "link", "img", "iframe"})
    loading = {"src", "xlink:href", "onload", "onclick", "srcset"}
    assert not any(loading & attributes.keys() for _, attributes in page.tags)
    anchors = {f"#{attributes['id']}" for _, attributes in page.tags if "id" in attributes}
    linked = [attributes["href"] for _, attributes in page.tags if "href" in attributes]
    assert len(linked) >= 2 * len(overview.indexes)
    assert set(linked) <= anchors
    assert "url(" not in text
    assert "@import" not in text
    assert "Not indexed yet: 1 data file" in page.text
    assert f"lakesieve refresh parquet:{overview.table.partition(':')[2]} key" in page.text
    # each above the table and beside its index
    assert page.text.count("the table is clustered by this column") == 4
    assert sum(tag == "svg" for tag, _ in page.tags) == 6


def test_an_index_that_queries_gain_by_is_not_to_be_dropped(overview: TableOverview) -> None:
    """Dropping is advised by queries that gain nothing, not by how keys lie alone."""
    drop = "lakesieve drop"
    assert drop not in report_page(overview)
    (query, *_) = recent().queries
    gain = replace(query, indexes=("sorted", "same"), left_by_format=33, left=5)
    none = replace(gain, left=33)

    gained = report_page(overview, recent=RecentQueries(queries=(gain, none), problems=()))
    vain = report_page(overview, recent=RecentQueries(queries=(none,), problems=()))

    assert drop not in gained
    assert drop in vain


def test_nothing_of_the_table_is_markup(overview: TableOverview) -> None:
    """Names and paths are text, whatever is in them."""
    index = overview.indexes[0]
    info = replace(index.info, name=HOSTILE, columns=(HOSTILE,), location=HOSTILE, budget=HOSTILE)
    hostile = replace(index, info=info, error=HOSTILE)
    text = report_page(
        replace(overview, table=HOSTILE, location=HOSTILE, version=HOSTILE, indexes=(hostile,))
    )

    assert "<script" not in text
    assert "49" not in Page(text).text.partition("lakesieve")[0]
    assert HOSTILE in Page(text).text


def test_the_verdict_comes_first(overview: TableOverview) -> None:
    """What the best index leaves of a look-up, then what there is to do, then the table."""
    text = " ".join(Page(report_page(replace(overview, table="lake.db.t"))).text.split())
    assert "19 → 1.9 data files for a key of key, on average" in text
    assert (
        text.index("for a key of key") < text.index("Not indexed yet") < text.index("lake.db.t p")
    )


def test_maps_have_an_axis(overview: TableOverview) -> None:
    """Keys stand below a map from the smallest to the largest; a redacted page has none."""
    (layout,) = [index.layout for index in overview.indexes if index.info.name == "sorted"]
    assert layout is not None
    assert [int(key) for key in layout.axis] == sorted(int(key) for key in layout.axis)
    assert layout.axis[0] == "0"
    assert f"<span>{layout.axis[1]}</span>" in report_page(overview)
    assert f"<span>{layout.axis[1]}</span>" not in report_page(overview, redact=True)


def test_the_unit_of_an_index(overview: TableOverview) -> None:
    """A page says whether an index tells data files or row blocks, and counts these."""
    shown = " ".join(Page(report_page(overview)).text.split())
    assert "exact; tells data files; made" in shown
    assert "the files that a point query would read in vain" in shown
    blocks = [
        replace(index, info=replace(index.info, rows_per_block=20_000))
        for index in overview.indexes
    ]
    shown = " ".join(Page(report_page(replace(overview, indexes=tuple(blocks)))).text.split())
    assert "exact; tells row blocks of 20,000 rows; made" in shown
    assert "the row blocks that a point query would read in vain" in shown


def test_locations_are_left_out(overview: TableOverview) -> None:
    """A redacted page does not say where anything lies."""
    shown = replace(overview, table="lake.shop.orders")
    assert overview.location in report_page(shown)
    assert overview.location not in report_page(shown, redact=True)


def test_a_table_without_indexes(overview: TableOverview) -> None:
    """The page says how to make one."""
    text = Page(report_page(replace(overview, indexes=()))).text
    assert "The table has no index. lakesieve create" in text


def test_the_command(folder: Path, tmp_path: Path) -> None:
    """It writes the file at once, in the place of an older one."""
    target = tmp_path / "report.html"
    target.write_text("old")
    run: Any = CliRunner().invoke
    done = run(build_app(), ["report", f"parquet:{folder}", "--html", str(target)])
    assert done.exit_code == 0, done.output
    assert "3 indexes" in done.stdout
    assert Page(target.read_text()).text.count("Where the keys are") == 3
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert run(build_app(), ["report", f"parquet:{folder}"]).exit_code == 2
    assert ls.find_files(f"parquet:{folder}", "key = 7").total == FILES


def test_recent_queries(overview: TableOverview) -> None:
    """What they read and what the indexes leave; redacted without what they compare with."""
    whole = Page(report_page(overview, recent=recent()))
    assert "1234567" in whole.text
    assert "ends after 12 events" in whole.text
    assert "Data files were left out by the index." in whole.text
    assert "60 → 6 data files for the latest 3 queries" in " ".join(whole.text.split())
    hidden = Page(report_page(overview, recent=recent(), redact=True))
    for literal in ("1234567", "5000", "secret"):
        assert literal not in hidden.text
    assert "key" in hidden.text


def test_deletes(overview: TableOverview) -> None:
    """What equality deletes cost is said, with what to do."""
    counts = DeleteCounts(files=3, equality=4711, positions=5)
    page = Page(report_page(replace(overview, deletes=counts)))
    assert "4,711" in page.text
    assert "lakesieve deletes convert" in page.text
    assert "Row-level deletes" not in Page(report_page(overview)).text


def test_hostile_advice() -> None:
    """Names, conditions and problems are text, whatever is in them."""
    page = Page(advice_page([advice(HOSTILE)]))
    assert [tag for tag, _ in page.tags if tag == "script"] == []
    assert HOSTILE in page.text
    assert "49" not in page.text.split(HOSTILE)[0]
