"""Unusual Delta logs are read like Delta for Spark: spellings, unknown actions, times."""

from __future__ import annotations

import json
import os
import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.tables.test_delta_reader import METADATA, PROTOCOL, Log, added, removed

from lakesieve.errors import (
    ErrorKind,
    LakesieveError,
    NotFoundError,
    StorageError,
    UnsupportedError,
)
from lakesieve.tables.delta.logged_paths import (
    absolute_paths,
    are_simple,
    canonical_paths,
    check_spellings,
)

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def log(tmp_path: Path) -> Log:
    """A table of one file, ``a.parquet``."""
    return Log(tmp_path / "t")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("/other/x", "file:///other/x"),
        ("/other/x%20y", "file:///other/x%20y"),
        ("/other//x", "/other/./x"),
        ("file:/other//x", "file:/other/x"),
        ("s//x", "s/x"),
        ("./x", "x"),
        ("s/./x", "s/x"),
        ("p/../x", "x"),
        ("s3://b/s//x", "s3://b/s/x"),
    ],
)
def test_one_file_in_two_spellings(log: Log, first: str, second: str) -> None:
    """A file is removed under every spelling that Delta for Spark considers equal."""
    log.commit(1, added(first), added(f"{second}-too"))
    log.commit(2, removed(second))
    log.commit(3, removed(f"{first}-too"), removed("a.parquet"))

    assert log.paths() == []
    assert log.paths("1") != []


@pytest.mark.parametrize(
    ("first", "second"),
    [("a.parquet", "/t/a.parquet"), ("x", "%78"), ("s3://b/x", "s3a://b/x"), ("ä", "%C3%A4")],
)
def test_spellings_that_are_two_files(log: Log, first: str, second: str) -> None:
    """A file stays if Delta for Spark considers the removed one another file."""
    log.commit(1, added(first))
    before = log.paths()
    log.commit(2, removed(second))

    assert log.paths() == before


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("%C3%BC", "%c3%bc"),
        ("/other/x", "file:/other/x"),
        ("FILE:/other/x", "file:/other/x"),
        ("s3://B/x", "s3://b/x"),
        ("a?b", "c"),
        ("a b", "c"),
        ("a%zz", "c"),
        ("../x", "c"),
        ("s/%2E%2E/x", "c"),
        ("x/", "c"),
        ("b:c", "c"),
        ("//host/x", "c"),
    ],
)
def test_spellings_that_readers_take_differently(log: Log, first: str, second: str) -> None:
    """If Spark's answer depends on its settings or is an error, the table is refused by name."""
    log.commit(1, added(first))
    log.commit(2, removed(second))

    with pytest.raises(UnsupportedError, match="The log of delta:") as caught:
        log.open()
    assert caught.value.kind is ErrorKind.UNSUPPORTED_TABLE


@given(st.lists(st.text("aB9_-~!'()*,;$&+=@./:%2EF#? \n\\é", max_size=8), max_size=4))
@example(["part-00000-80a083e8.c000.snappy.parquet", "day=2024-01-01/part.parquet"])
def test_simple_paths_are_as_they_are(texts: list[str]) -> None:
    """Paths that are called simple are canonical, relative and unescaped, and no two are equal."""
    paths = pa.chunked_array([pa.array(texts, pa.string())])
    if not are_simple(paths):
        return

    # with ./ in front, a path is not plain, so the slow conversion handles it
    for text in texts:
        odd = pa.chunked_array([[f"./{text}"]])
        assert canonical_paths(odd, "t").to_pylist() == [text]
    check_spellings(paths, "t")
    slow, fast = (absolute_paths(paths, "file:/t", is_simple=one) for one in (False, True))
    assert fast.equals(slow)
    assert fast.to_pylist() == [f"file:/t/{text}" for text in texts]


@pytest.mark.parametrize(
    "path", ["/t/a", "s3://b/a", "a:b", "a%20b", "./a", "../a", ".a", "a//b", "/", "", "a/", "a\n"]
)
def test_paths_that_are_not_simple(path: str) -> None:
    """Absolute paths, escapes, steps and unusual characters are looked at one by one."""
    assert not are_simple(pa.chunked_array([["a", path]]))


def test_simple_and_other_paths_in_one_log(log: Log) -> None:
    """A commit with unusual paths after a checkpoint of usual ones removes the right file."""
    described = {"metaData": {**METADATA["metaData"], "configuration": []}}
    rows = [PROTOCOL, described, added("a.parquet"), added("d/b"), added("d/c")]
    log.checkpoint(f"{0:020d}.checkpoint.parquet", rows)
    log.commit(1, removed("d//b"), added("/other/x"))
    log.commit(2, removed("d/./c"), added("d/%20"))

    assert log.paths("1") == ["a.parquet", "d/c", "file:/other/x"]
    assert log.paths() == ["a.parquet", "d/ ", "file:/other/x"]


def test_actions_on_the_table_far_apart_in_a_checkpoint(log: Log) -> None:
    """The last such action of a checkpoint counts, wherever it stands among the files."""
    described = {**METADATA["metaData"], "configuration": []}
    older, newer = ({"metaData": {**described, "partitionColumns": [c]}} for c in ("k", "p"))
    files = [added(f"{number}") for number in range(70_000)]
    log.checkpoint(f"{0:020d}.checkpoint.parquet", [older, *files, PROTOCOL, newer])
    log.commit(1, removed("0"))
    version = log.open().version()

    assert json.loads(version.schema)["partitioning"] == ["p"]
    assert len(log.paths()) == 69_999


def test_actions_that_are_unknown(log: Log) -> None:
    """Actions of unknown kinds are ignored, even in one line with others, and so are nulls."""
    log.commit(
        1,
        {"fancy": [1], **added("b.parquet")},
        {"fancy": "x"},
        {"remove": None, **added("c.parquet")},
        # of several actions in a line, Spark takes one
        {**removed("c.parquet"), **added("d.parquet")},
    )

    assert log.paths() == ["a.parquet", "b.parquet", "c.parquet", "d.parquet"]


def test_compacted_commits(log: Log) -> None:
    """Like in Spark, a file that contains several commits is read in their place."""
    log.commit(1, added("b.parquet"))
    log.commit(2, removed("b.parquet"), added("c.parquet"))
    log.commit(3, added("d.parquet"))
    name = log.folder / f"{1:020d}.{2:020d}.compacted.json"
    name.write_text(json.dumps(added("from-compaction.parquet")))
    (log.folder / f"{3:020d}.{2:020d}.compacted.json").write_text("damaged")

    assert log.paths() == ["a.parquet", "d.parquet", "from-compaction.parquet"]
    assert log.paths("1") == ["a.parquet", "b.parquet"]


def test_a_checkpoint_with_several_actions_on_one_file(log: Log) -> None:
    """If a checkpoint has several actions on one file, the last one counts."""
    name = f"{0:020d}.checkpoint.parquet"
    described = {"metaData": {**METADATA["metaData"], "configuration": []}}
    log.checkpoint(name, [PROTOCOL, described, added("b"), added("b"), added("c"), removed("c")])
    log.commit(1, added("d"))

    assert log.paths() == ["b", "d"]


def _stamped(time: int) -> dict[str, Any]:
    return {"commitInfo": {"inCommitTimestamp": time}}


def _copied(log: Log) -> None:
    """Set the time of all files to that of a copied folder."""
    for path in log.folder.iterdir():
        os.utime(path, (9_000_000, 9_000_000))


def _told(**more: str) -> dict[str, Any]:
    configuration = {"delta.enableInCommitTimestamps": "true", **more}
    return {"metaData": {**METADATA["metaData"], "configuration": configuration}}


def test_recorded_times_of_all_commits(tmp_path: Path) -> None:
    """If commits record their times from the first one on, the times of the files are ignored."""
    log = Log(tmp_path / "t")
    log.commit(0, _stamped(1000), PROTOCOL, _told(), added("a.parquet"))
    for version in range(1, 30):
        log.commit(version, _stamped(1000 * (version + 1)), added(f"{version}.parquet"))
    _copied(log)
    table = log.open()

    assert table.version().timestamp_ms == 30_000
    for second, expected in (
        (1, "0"),
        (1.5, "0"),
        (14, "13"),
        (29.9, "28"),
        (30, "29"),
        (99, "29"),
    ):
        assert (
            table.version(f"1970-01-01T00:00:{second:06.3f}" if second < 60 else "1971-01-01").id
            == expected
        )
    with pytest.raises(NotFoundError):
        table.version("1970-01-01T00:00:00.999")


def test_recorded_times_from_some_commit_on(log: Log) -> None:
    """Before the commit that turned recorded times on, commits have the times of their files."""
    log.commit(1, added("b.parquet"))
    told = _told(
        **{
            "delta.inCommitTimestampEnablementVersion": "2",
            "delta.inCommitTimestampEnablementTimestamp": "5000000",
        }
    )
    log.commit(2, _stamped(5_000_000), told)
    log.commit(3, _stamped(6_000_000), added("c.parquet"))
    by_file = log.open()
    assert by_file.version("1970-01-01T00:16:41").id == "1"

    _copied(log)
    copied = log.open()
    assert copied.version().timestamp_ms == 6_000_000
    assert copied.version("1970-01-01T01:23:20").id == "2"
    assert copied.version("1970-01-01T01:40:00").id == "3"
    # the files of the commits before are now later than the first recorded time
    for spec in ("1970-01-01T00:16:41", "1970-01-01T01:23:19.999"):
        with pytest.raises(NotFoundError):
            copied.version(spec)


@pytest.mark.parametrize(
    "metadata",
    [
        {"metaData": {"id": "x", "partitionColumns": []}},
        {"metaData": {**METADATA["metaData"], "schemaString": "{"}},
        _told(**{"delta.inCommitTimestampEnablementVersion": "2"}),
        _told(),
    ],
)
def test_a_log_that_lacks_something(log: Log, metadata: dict[str, Any]) -> None:
    """If anything is missing or damaged, the error names the log."""
    log.commit(0, PROTOCOL, metadata)

    with pytest.raises(StorageError, match="The log of delta:"):
        log.open().version("2026-01-01")


def test_damaged_checkpoints(log: Log) -> None:
    """If a checkpoint is damaged, either all files are listed or the error names the log."""
    log.checkpoint(f"{4:020d}.checkpoint.parquet", [PROTOCOL, METADATA, added("a.parquet")])
    path = log.folder / f"{4:020d}.checkpoint.parquet"
    whole, drawn = path.read_bytes(), random.Random(7)
    refused = 0
    for _ in range(100):
        damaged = bytearray(whole)
        for _ in range(3):
            damaged[drawn.randrange(4, len(whole))] = drawn.randrange(256)
        path.write_bytes(damaged)
        try:
            log.paths()
        except LakesieveError:
            refused += 1
    assert refused > 50
