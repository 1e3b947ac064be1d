"""Filters of Polars and Arrow on words of texts and on elements of lists."""

from __future__ import annotations

import random
import shutil
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest
from tests.depth import depth
from tests.spark.many_keys.words import characters, check_letters, drawn_text

import lakesieve as ls
from lakesieve.sieve import LONGEST_WORD

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

_FILES = 6
_FILTERS = depth("FILTERS", test=25, soak=2000)
_TAGS = ("", "a", "tag", "Tag", "ä", "two words")


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An indexed folder. Each file has few different values."""
    folder = tmp_path_factory.mktemp("engines") / "t"
    drawn = random.Random("engines 1")
    rows = []
    for file in range(_FILES):
        # a file with a cut word is opened for every part of a word
        short = [text for _ in range(9) if len(text := drawn_text(drawn, 6)) < LONGEST_WORD]
        texts = [*short[:3], f"Order{file} of File-{file}", None]
        tags = [*drawn.sample(_TAGS, 2), f"t{file}", None]
        for number in range(12):
            lists: list[list[Any] | None] = [
                [drawn.choice(tags) for _ in range(drawn.randrange(3))],
                [drawn.choice([file, file * 7, None]) for _ in range(drawn.randrange(3))],
            ]
            some = [None if drawn.random() < 0.1 else one for one in lists]
            rows.append((file * 12 + number, drawn.choice(texts), *some))
    frame = spark.createDataFrame(rows, "id INT, s STRING, tags ARRAY<STRING>, n ARRAY<INT>")
    frame.repartitionByRange(_FILES, "id").write.parquet(str(folder))
    keys = ["words(s)", "elements(tags)", "elements(n)"]
    ls.create_indexes(f"parquet:{folder}", keys, spark=spark)
    return folder


def _text(drawn: random.Random) -> str:
    """Draw a part of a text, often one that few files have."""
    file = drawn.randrange(_FILES)
    return drawn.choice(
        [f"order{file}", f"File-{file}", f"Order{file} of", drawn_text(drawn, 3), "a.b"]
    )


def _polars_leaf(drawn: random.Random) -> pl.Expr:
    s, text, file = pl.col("s"), _text(drawn), drawn.randrange(_FILES)
    lower = drawn.choice([s, s.str.to_lowercase()])
    return drawn.choice(
        [
            lower.str.contains(text, literal=True),
            lower.str.contains(text.replace("(", "").replace("[", ""), strict=False),
            lower.str.starts_with(text),
            lower.str.ends_with(text),
            s.str.to_lowercase() == f"order{file} of file-{file}",
            s.str.to_lowercase().is_in([text.lower(), f"order{file} of file-{file}", None]),
            s == f"Order{file} of File-{file}",
            pl.col("tags").list.contains(drawn.choice([*_TAGS, f"t{file}"])),
            pl.col("n").list.contains(drawn.choice([file, file * 7])),
            pl.col("n").list.contains(pl.lit(file, pl.Int32), nulls_equal=False),
            pl.col("id") < 12 * file,
        ]
    )


def _arrow_leaf(drawn: random.Random) -> Any:
    s, text, file = pc.field("s"), _text(drawn), drawn.randrange(_FILES)
    way = drawn.choice([pc.match_substring, pc.starts_with, pc.ends_with])
    return drawn.choice(
        [
            way(s, text),
            pc.match_substring(s, text, ignore_case=True),
            s == f"Order{file} of File-{file}",
            pc.field("id") < 12 * file,
        ]
    )


def _drawn(drawn: random.Random, leaf: Callable[[random.Random], Any], deep: int = 2) -> Any:
    kind = drawn.randrange(5)
    if deep == 0 or kind < 2:
        return leaf(drawn)
    if kind == 2:
        return ~_drawn(drawn, leaf, deep - 1)
    left, right = _drawn(drawn, leaf, deep - 1), _drawn(drawn, leaf, deep - 1)
    return left & right if kind == 3 else left | right


def _skips() -> bool:
    (scan,) = ls.last_pruning()
    return scan.files_read < scan.files_total


@pytest.fixture(scope="module")
def lower_case(spark: SparkSession, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same folder with an index on the texts in lower case alone."""
    copy = tmp_path_factory.mktemp("lower_case") / "t"
    copy.mkdir()
    for path in folder.glob("*.parquet"):
        shutil.copy(path, copy)
    ls.create_index(f"parquet:{copy}", "lower(s)", spark=spark)
    return copy


@pytest.mark.parametrize("name", ["folder", "lower_case"])
def test_polars(name: str, request: pytest.FixtureRequest) -> None:
    """A scan has the rows that Polars finds in all files, and opens fewer of them."""
    folder = request.getfixturevalue(name)
    drawn = random.Random(f"polars 1 {name}")
    every = pl.read_parquet(folder / "*.parquet")
    frame = ls.engines.polars.scan(f"parquet:{folder}")
    skipped = 0
    for _ in range(_FILTERS):
        wanted = _drawn(drawn, _polars_leaf)
        found = frame.filter(wanted).select("id").collect()
        skipped += _skips()
        assert found["id"].sort().to_list() == every.filter(wanted)["id"].sort().to_list(), wanted
    assert skipped > _FILTERS // 20


def test_arrow(folder: Path) -> None:
    """A dataset has the rows that Arrow finds in all files, and opens fewer of them."""
    drawn = random.Random("arrow 1")
    every = ds.dataset(sorted(map(str, folder.glob("*.parquet"))))
    dataset = ls.engines.arrow.dataset(f"parquet:{folder}")
    skipped = 0
    for _ in range(_FILTERS):
        wanted = _drawn(drawn, _arrow_leaf)
        found = dataset.to_table(["id"], filter=wanted)
        skipped += _skips()
        expected = every.to_table(["id"], filter=wanted)
        assert sorted(found["id"].to_pylist()) == sorted(expected["id"].to_pylist()), wanted
    assert skipped > _FILTERS // 10


@pytest.mark.parametrize(
    "wanted",
    [
        pl.col("s").str.contains("Order3 of", literal=True),
        pl.col("s").str.contains("File-3"),
        pl.col("s").str.ends_with("e-3"),
        pl.col("s").str.starts_with("Order3"),
        pl.col("s").str.to_lowercase() == "order3 of file-3",
        pl.col("s").str.to_lowercase().str.contains("order3 of", literal=True),
        pl.col("tags").list.contains("t3"),
        pl.col("n").list.contains(21),
        pc.match_substring(pc.field("s"), "Order3 of"),
        pc.ends_with(pc.field("s"), "e-3"),
        pc.starts_with(pc.field("s"), "Order3"),
    ],
    ids=str,
)
def test_one_file_is_opened(folder: Path, wanted: Any) -> None:
    """Each form finds the only file with its rows."""
    assert len(ls.find_files(f"parquet:{folder}", wanted).paths) == 1


@pytest.mark.parametrize(
    "wanted",
    [
        pl.col("s").str.to_lowercase() == "order3 of file-3",
        pl.col("s").str.to_lowercase().is_in(["order3 of file-3", "ORDER4 OF FILE-4", None]),
        pl.col("s").str.to_lowercase().str.starts_with("order3 of"),
        "lower(s) = 'order3 of file-3'",
        "s ILIKE 'ORDER3 OF%' AND id > 0",
        "lower(s) LIKE 'order3 of%-3'",
    ],
    ids=str,
)
def test_lower_case(lower_case: Path, wanted: Any) -> None:
    """An index on the texts in lower case answers engines for letters of ASCII."""
    matches = ls.find_files(f"parquet:{lower_case}", wanted)
    assert len(matches.paths) == 1
    assert "index-used" in {str(reason.code) for reason in matches.reasons}


@pytest.mark.parametrize(
    "wanted",
    [
        pl.col("s").str.to_lowercase() == "örder3",
        pl.col("s").str.to_lowercase().str.ends_with("of file-3"),
        "NOT lower(s) = 'order3 of file-3'",
        "lower(s) RLIKE 'of file-3'",
    ],
    ids=str,
)
def test_what_lower_case_cannot_answer(lower_case: Path, wanted: Any) -> None:
    """Other letters, ends of texts and negations open every file."""
    assert len(ls.find_files(f"parquet:{lower_case}", wanted).paths) == _FILES


@pytest.mark.parametrize(
    "wanted",
    [
        pl.col("s").str.contains("o3|o4"),
        pl.col("s").str.contains("(?i)O3"),
        pl.col("s").str.contains(pl.col("s")),
        ~pl.col("s").str.contains("o3", literal=True),
        pl.col("tags").list.contains(None),
        pl.col("tags").list.contains(pl.col("s")),
        pc.match_substring(pc.field("s"), "o3", ignore_case=True),
    ],
    ids=str,
)
def test_what_the_index_cannot_answer(folder: Path, wanted: Any) -> None:
    """Other patterns, other columns and negations open every file."""
    assert len(ls.find_files(f"parquet:{folder}", wanted).paths) == _FILES


def test_letters_in_polars() -> None:
    """In the lower case of Polars, too, ASCII letters come from few characters."""
    lowered = pl.Series(characters()).str.to_lowercase().to_list()
    check_letters(characters(), lowered)
