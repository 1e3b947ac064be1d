from __future__ import annotations

import io
import json

from rich.console import Console

from lakesieve.demo.measurements import DemoIndex, DemoQuery, DemoResult
from lakesieve.report import to_json, to_text

RESULT = DemoResult(
    table="lake.tpch.lineitem",
    warehouse="demo-data/warehouse",
    scale=1.0,
    rows=6_001_215,
    files=400,
    table_bytes=156_460_340,
    indexes=(
        DemoIndex(
            column="l_orderkey",
            keys=1_500_000,
            bytes=4_900_000,
            bits_per_row=6.5,
            column_bytes=19_600_000,
            build_seconds=5.61,
        ),
    ),
    queries=(
        DemoQuery(
            name="point",
            sql="SELECT l_quantity FROM lake.tpch.lineitem WHERE l_orderkey = 7",
            rows=4,
            files_off=400,
            files_on=5,
            uncovered=1,
            seconds_off=2.0,
            seconds_on=0.1,
            speedup=20.0,
        ),
    ),
    seconds=98.2,
)


def shown(width: int) -> str:
    file = io.StringIO()
    Console(file=file, width=width).print(to_text(RESULT), highlight=False)
    return file.getvalue()


def test_the_page_holds_the_figures() -> None:
    """Rows, files, sizes, ratios and times are on the page."""
    page = " ".join(shown(110).split())

    for text in (
        "6,001,215 rows",
        "400 → 5",
        "2.00 s → 100 ms",
        "20x",
        "4.9 MB",
        "6.5 bits",
        "25 %",
        "3.1 %",
        "WHERE l_orderkey = 7",
        "1 file not indexed yet",
        "1 min 38 s",
    ):
        assert text in page


def test_the_verdict_comes_first() -> None:
    """The first line says what skipping did, and that the answers are equal."""
    first = shown(100).split("\n")[1]
    assert first == "✓ 400 → 5 data files, answers equal  1 query in 100 ms instead of 2.00 s"


def test_the_page_fits_a_usual_terminal() -> None:
    """No line is wider than the 100 columns it is given, and no figure is cut off."""
    page = shown(100)

    assert max(len(line) for line in page.splitlines()) <= 100
    assert "…" not in page


def test_json_has_every_field() -> None:
    """The JSON form is the result model itself."""
    document = json.loads(to_json(RESULT))

    assert document["queries"][0]["files_on"] == 5
    assert document["indexes"][0]["column_bytes"] == 19_600_000
    assert set(document) == set(DemoResult.__dataclass_fields__)
