"""Delta tables without an engine: commits, and every form of checkpoint."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakesieve.errors import ErrorKind, NotFoundError, StorageError, UnsupportedError
from lakesieve.storage import Storage
from lakesieve.tables.delta.table import DeltaReader
from lakesieve.tables.opening import open_table, options_by_environment

if TYPE_CHECKING:
    from pathlib import Path

    from lakesieve.tables import TableReader

SCHEMA = {
    "type": "struct",
    "fields": [
        {"name": "k", "type": "long", "nullable": True, "metadata": {}},
        {"name": "p", "type": "string", "nullable": True, "metadata": {}},
    ],
}
PROTOCOL = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}
METADATA: dict[str, Any] = {
    "metaData": {
        "id": "11111111-2222-3333-4444-555555555555",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps(SCHEMA),
        "partitionColumns": ["p"],
        "configuration": {},
    }
}
VECTOR = {"storageType": "u", "pathOrInlineDv": "ab", "offset": 1, "sizeInBytes": 9}


def added(path: str, records: int | None = 5, **more: Any) -> dict[str, Any]:
    """Return an action that adds a file."""
    stats = None if records is None else json.dumps({"minValues": {"k": 1}, "numRecords": records})
    entry = {"path": path, "partitionValues": {}, "size": 100, "modificationTime": 1}
    return {"add": {**entry, "dataChange": True, "stats": stats, **more}}


def removed(path: str, **more: Any) -> dict[str, Any]:
    """Return an action that removes a file."""
    return {"remove": {"path": path, "deletionTimestamp": 1, "dataChange": True, **more}}


class Log:
    """A log that is written by hand."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / "_delta_log"
        self.folder.mkdir(parents=True)
        self.commit(0, PROTOCOL, METADATA, added("a.parquet"))

    def commit(self, version: int, *actions: dict[str, Any]) -> None:
        path = self.folder / f"{version:020d}.json"
        path.write_text("\n".join(map(json.dumps, actions)))
        os.utime(path, (1000 + version, 1000 + version))

    def checkpoint(self, name: str, actions: list[dict[str, Any]], hint: int | None = None) -> None:
        """Write a checkpoint as a Parquet file, with one row for each action."""
        table = pa.Table.from_pylist(actions, schema=_CHECKPOINT)
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        pq.write_table(table, path)
        if hint is not None:
            (self.folder / "_last_checkpoint").write_text(json.dumps({"version": hint}))

    def open(self) -> TableReader:
        return open_table(f"delta:{self.root}")

    def paths(self, version: str | None = None) -> list[str]:
        """Return the paths of the live files below the root."""
        table = self.open()
        listed = table.live_files(table.version(version)).column("path").to_pylist()
        return sorted(path.removeprefix(f"file:{self.root}/") for path in listed)


_MAP = pa.map_(pa.string(), pa.string())
_DV = pa.struct(
    {"storageType": pa.string(), "pathOrInlineDv": pa.string(), "offset": pa.int32()}
    | {"sizeInBytes": pa.int32(), "cardinality": pa.int64()}
)
_CHECKPOINT = pa.schema(
    {
        "protocol": pa.struct({"minReaderVersion": pa.int32(), "minWriterVersion": pa.int32()}),
        "metaData": pa.struct(
            {"id": pa.string(), "schemaString": pa.string(), "configuration": _MAP}
            | {"partitionColumns": pa.list_(pa.string())}
        ),
        "add": pa.struct(
            {"path": pa.string(), "partitionValues": _MAP, "size": pa.int64(), "stats": pa.string()}
            | {"stats_parsed": pa.struct({"numRecords": pa.int64()}), "deletionVector": _DV}
        ),
        "remove": pa.struct({"path": pa.string(), "deletionVector": _DV}),
        "sidecar": pa.struct({"path": pa.string(), "sizeInBytes": pa.int64()}),
    }
)


@pytest.fixture
def log(tmp_path: Path) -> Log:
    """A table of one file, in a folder with unusual characters."""
    return Log(tmp_path / "ä b%25+1" / "t")


def test_commits_in_turn(log: Log) -> None:
    """Files are added and removed; older versions stay unchanged."""
    log.commit(1, removed("a.parquet"), added("b.parquet"), added("c.parquet", None))
    log.commit(2, removed("c.parquet"), added("d.parquet"))
    table = log.open()

    assert table.uuid == "11111111-2222-3333-4444-555555555555"
    assert table.location == f"file:{log.root}"
    assert [log.paths(version) for version in ("0", "1", "2", None)] == [
        ["a.parquet"],
        ["b.parquet", "c.parquet"],
        ["b.parquet", "d.parquet"],
        ["b.parquet", "d.parquet"],
    ]
    first = table.live_files(table.version("1"))
    assert first.sort_by("path").column("records").to_pylist() == [5, None]
    assert first.column("size").to_pylist() == [100, 100]
    assert len(table.retained_files()) == 4


def test_paths_are_decoded(log: Log) -> None:
    """Relative paths are percent-decoded, and absolute paths may be elsewhere."""
    log.commit(
        1,
        added("p=a%2520b/%C3%A4%20+.parquet"),
        added("file:///other/x%20y.parquet"),
        added("s3a://Bucket/z.parquet"),
        added("/bare/w.parquet"),
    )
    table = log.open()
    listed = set(table.live_files(table.version()).column("path").to_pylist())

    assert listed == {
        f"file:{log.root}/a.parquet",
        f"file:{log.root}/p=a%20b/ä +.parquet",
        "file:/other/x y.parquet",
        "s3://Bucket/z.parquet",
        "file:/bare/w.parquet",
    }


def test_a_new_deletion_vector_leaves_the_file(log: Log) -> None:
    """A file that is removed with its old vector and added with a new one stays."""
    log.commit(1, added("a.parquet", deletionVector=VECTOR), removed("a.parquet"))
    other = {**VECTOR, "offset": 2}
    log.commit(
        2, removed("a.parquet", deletionVector=VECTOR), added("a.parquet", deletionVector=other)
    )

    assert log.paths() == ["a.parquet"]
    log.commit(3, removed("a.parquet", deletionVector=other))
    assert log.paths() == []


_ROWS: list[dict[str, Any]] = [
    PROTOCOL,
    {"metaData": {**METADATA["metaData"], "configuration": [("delta.x", "1")]}},
    added("b.parquet"),
    {"add": {"path": "c%20d.parquet", "size": 7, "stats_parsed": {"numRecords": 9}}},
    added("e.parquet", deletionVector=VECTOR),
    removed("e.parquet"),
]
_LIVE = ["b.parquet", "c d.parquet", "e.parquet"]
_OTHERS: list[dict[str, Any]] = [
    {"checkpointMetadata": {"version": 4}},
    {"txn": {"appId": "stream", "version": 1}},
    {"domainMetadata": {"domain": "delta.clustering", "configuration": "{}", "removed": False}},
]


@pytest.mark.parametrize("form", ["classic", "parts", "sidecars", "json"])
@pytest.mark.parametrize("is_hinted", [True, False])
def test_checkpoints(log: Log, form: str, is_hinted: bool) -> None:
    """Every form of checkpoint replaces all commits up to it, which may be deleted."""
    log.commit(5, added("late.parquet"))
    stem, hint = f"{4:020d}.checkpoint", 4 if is_hinted else None
    if form == "classic":
        log.checkpoint(f"{stem}.parquet", _ROWS, hint)
    elif form == "parts":
        log.checkpoint(f"{stem}.{1:010d}.{2:010d}.parquet", _ROWS[:3], hint)
        log.checkpoint(f"{stem}.{2:010d}.{2:010d}.parquet", _ROWS[3:], hint)
        # one that is not complete does not count
        log.checkpoint(f"{5:020d}.checkpoint.{1:010d}.{2:010d}.parquet", _ROWS[:2])
    else:
        log.checkpoint("_sidecars/s.parquet", _ROWS[2:])
        top = [*_ROWS[:2], {"sidecar": {"path": "s.parquet", "sizeInBytes": 1}}]
        if form == "sidecars":
            log.checkpoint(f"{stem}.80a083e8-7026-4e79-81be-64bd76c43a11.parquet", top, hint)
        else:
            name = f"{stem}.80a083e8-7026-4e79-81be-64bd76c43a11.json"
            plain = [*_OTHERS, PROTOCOL, METADATA, top[2]]
            (log.folder / name).write_text("\n".join(map(json.dumps, plain)))
    (log.folder / f"{0:020d}.json").unlink()
    table = log.open()

    assert log.paths("4") == _LIVE
    assert log.paths() == [*_LIVE, "late.parquet"]
    files = table.live_files(table.version("4")).sort_by("path")
    assert files.column("records").to_pylist() == [5, 9, 5]
    with pytest.raises(NotFoundError, match="no version '3'"):
        table.version("3")


@pytest.mark.parametrize("hint", [3, 99])
def test_a_hint_at_nothing(log: Log, hint: int) -> None:
    """A hint at a checkpoint that does not exist is ignored."""
    for version in range(1, 6):
        log.commit(version, added(f"{version}.parquet"))
    (log.folder / "_last_checkpoint").write_text(json.dumps({"version": hint}))

    assert len(log.paths()) == 6
    assert len(log.paths("2")) == 3


def test_nothing_is_read_twice(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """While nothing is written, the log is only listed again, not read again."""
    table = log.open()
    read: list[str] = []
    get = Storage.get

    def noted(self: Storage, path: str, *, most: int | None = None) -> bytes:
        read.append(path)
        return get(self, path, most=most)

    monkeypatch.setattr(Storage, "get", noted)
    table.version()
    again = [path for path in read if path.endswith(".json")]
    log.commit(1, added("b.parquet"))
    table.version()

    assert again == []
    assert [path for path in read if path.endswith(".json")] != []


def test_versions_by_time(log: Log) -> None:
    """A time selects the newest commit whose file is not later."""
    log.commit(1, added("b.parquet"))
    log.commit(2, {"commitInfo": {"inCommitTimestamp": 5_000_000}}, added("c.parquet"))
    table = log.open()

    assert table.version("1970-01-01T00:16:41").id == "1"
    assert table.version("1970-01-01T01:23:19.999").id == "2"
    assert table.version("2").timestamp_ms == 1_002_000
    for spec in ("1970-01-01", "3", "-1", "nothing", "99999999999999999999999"):
        with pytest.raises(NotFoundError) as caught:
            table.version(spec)
        assert caught.value.kind is ErrorKind.VERSION_NOT_FOUND


def test_unknown_features_are_refused(log: Log) -> None:
    """A table with an unknown feature is refused."""
    features = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["fancy"]}
    log.commit(1, {"protocol": features})
    table = log.open()

    with pytest.raises(UnsupportedError, match="fancy"):
        table.columns(table.version())
    with pytest.raises(UnsupportedError, match="fancy"):
        table.live_files(table.version())


@pytest.mark.parametrize(
    "contents",
    [
        *("{", "[]", "17", '{"add": 3}', '{"add": {}}', '"x"', "[" * 100_000),
        '{"add": {"path": "a", "size": 99999999999999999999}}',
        '{"add": {"path": "a", "deletionVector": {"storageType": "u"}}}',
        '{"metaData": {"id": "x", "schemaString": "{}", "configuration": [1]}}',
    ],
)
def test_a_commit_that_cannot_be_read(log: Log, contents: str) -> None:
    """The error names the log; the reader never returns fewer files."""
    (log.folder / f"{1:020d}.json").write_text(contents)

    with pytest.raises(StorageError, match="The log of delta:"):
        log.open()


def test_commits_that_are_missing(log: Log, tmp_path: Path) -> None:
    """A missing commit is an error, and so is a folder without a log."""
    log.commit(2, added("b.parquet"))

    with pytest.raises(StorageError, match="some commits are missing"):
        log.open()
    with pytest.raises(NotFoundError) as caught:
        open_table(f"delta:{tmp_path}")
    assert caught.value.kind is ErrorKind.TABLE_NOT_FOUND


def test_a_table_that_was_replaced(log: Log) -> None:
    """A new table at the same place is detected."""
    table = log.open()
    log.commit(0, PROTOCOL, {"metaData": {**METADATA["metaData"], "id": "other"}})

    with pytest.raises(NotFoundError) as caught:
        table.version()
    assert caught.value.kind is ErrorKind.TABLE_REPLACED


def test_a_name_that_leads_elsewhere(log: Log) -> None:
    """The engine's name of a table is followed again, and files are spelled as the engine does."""
    places = [f"file://{log.root}"]
    table = DeltaReader("t", places[0], options_by_environment(), locate=lambda: places[-1])
    files = table.live_files(table.version())
    assert files.column("path").to_pylist() == [f"file:{log.root}/a.parquet"]
    assert files.column("scanned").to_pylist() == [f"file://{log.root}/a.parquet"]

    places.append("file:///elsewhere")
    with pytest.raises(NotFoundError) as caught:
        table.version()
    assert caught.value.kind is ErrorKind.TABLE_REPLACED


def test_commits_that_a_coordinator_keeps(log: Log) -> None:
    """If a coordinator may have the last commits, the table is refused."""
    coordinated = {"delta.coordinatedCommits.commitCoordinator-preview": "dynamodb"}
    log.commit(1, {"metaData": {**METADATA["metaData"], "configuration": coordinated}})

    with pytest.raises(UnsupportedError, match="coordinator"):
        log.open()
