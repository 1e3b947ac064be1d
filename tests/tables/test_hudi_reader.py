"""Hudi tables without an engine: both layouts of the timeline, and the file slices of versions."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakesieve.errors import ErrorKind, NotFoundError, StorageError, UnsupportedError
from lakesieve.storage import ObjectInfo, Storage
from lakesieve.tables.contract import TableVersion
from lakesieve.tables.hudi.table import HudiReader
from lakesieve.tables.opening import open_table, options_by_environment

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SCHEMA = {
    "type": "record",
    "name": "t",
    "fields": [
        {"name": "k", "type": ["null", "long"]},
        {"name": "p", "type": "string"},
        {"name": "d", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9}},
        {
            "name": "s",
            "type": {
                "type": "record",
                "name": "inner",
                "fields": [{"name": "n", "type": {"type": "int", "logicalType": "date"}}],
            },
        },
        {"name": "again", "type": ["null", "inner"]},
        {"name": "both", "type": ["string", "long"]},
        {"name": "l", "type": {"type": "array", "items": {"type": "map", "values": "bytes"}}},
    ],
}
STATISTICS = {
    "type": "record",
    "name": "metadata",
    "fields": [
        {"name": "operationType", "type": ["null", "string"]},
        {"name": "extraMetadata", "type": ["null", {"type": "map", "values": "string"}]},
        {
            "name": "partitionToReplaceFileIds",
            "type": [
                "null",
                {"type": "map", "values": {"type": "array", "items": "string"}},
            ],
        },
        {"name": "earliestCommitToRetain", "type": ["null", "string"]},
        {
            "name": "operations",
            "type": [
                "null",
                {
                    "type": "array",
                    "items": {
                        "type": "record",
                        "name": "operation",
                        "fields": [
                            {"name": "partitionPath", "type": "string"},
                            {"name": "fileId", "type": "string"},
                        ],
                    },
                },
            ],
        },
    ],
}


def at(minute: int, *, seconds: int = 0) -> str:
    """Return a moment as Hudi writes it."""
    return f"2026010112{minute:02d}{seconds:02d}000"


class Table:
    """A table that is written by hand."""

    def __init__(
        self, root: Path, version: int = 9, settings: dict[str, str] | None = None
    ) -> None:
        self.root = root
        self.version = version
        self.folder = root / ".hoodie" / ("timeline" if version >= 8 else "")
        self.folder.mkdir(parents=True)
        said = {
            "hoodie.table.version": str(version),
            "hoodie.table.type": "MERGE_ON_READ",
            "hoodie.table.partition.fields": "p",
            "hoodie.table.timeline.timezone": "UTC",
        } | (settings or {})
        lines = ["# made by hand", *(f"{name}={value}" for name, value in said.items())]
        (root / ".hoodie" / "hoodie.properties").write_text("\n".join(lines))

    def action(self, minute: int, action: str, state: str = "", **said: Any) -> None:
        """Write an action that was complete half a minute after it began, or has another state."""
        name = at(minute)
        if not state and self.version >= 8:
            name += f"_{at(minute, seconds=30)}"
        name += f".{action}" if action else ""
        path = self.folder / (f"{name}.{state}" if state else name)
        path.write_bytes(self._encoded(said))

    def _encoded(self, said: dict[str, Any]) -> bytes:
        if not said:
            return b""
        if self.version < 8 and "operations" not in said:
            return json.dumps(said).encode()
        target = io.BytesIO()
        fastavro.writer(target, STATISTICS, [said])
        return target.getvalue()

    def commit(
        self, minute: int, action: str = "commit", *, schema: Any = SCHEMA, **said: Any
    ) -> None:
        """Write a complete commit."""
        written = {"schema": json.dumps(schema)}
        self.action(minute, action, operationType="UPSERT", extraMetadata=written, **said)

    def file(self, name: str, partition: str = "a", size: int = 10) -> None:
        """Write a file of a partition."""
        folder = self.root / partition
        folder.mkdir(exist_ok=True)
        (folder / ".hoodie_partition_metadata").touch()
        (folder / name).write_bytes(b"x" * size)

    def base(self, group: str, minute: int, **more: Any) -> None:
        """Write a base file."""
        self.file(f"{group}_0-1-2_{at(minute)}.parquet", **more)

    def log(self, group: str, minute: int, number: int = 1, **more: Any) -> None:
        """Write a log file."""
        self.file(f".{group}_{at(minute)}.log.{number}_0-1-2", **more)

    def open(self) -> HudiReader:
        table = open_table(f"hudi:{self.root}")
        assert isinstance(table, HudiReader)
        return table

    def files(self, version: str | None = None) -> list[str]:
        """Return the table's files, with a mark on those with log files."""
        table = self.open()
        live = table.live_files(table.version(version)).to_pylist()
        assert all(row["indexable"] != row["path"].endswith("#merged") for row in live)
        assert all(row["location"] == row["path"].removesuffix("#merged") for row in live)
        return sorted(row["path"].removeprefix(f"file:{self.root}/") for row in live)


def name(group: str, minute: int, partition: str = "a", merged: str = "") -> str:
    """Return the path of a base file."""
    return f"{partition}/{group}_0-1-2_{at(minute)}.parquet{merged}"


@pytest.mark.parametrize("version", [6, 9])
def test_versions(tmp_path: Path, version: int) -> None:
    """A version is the time of a commit, and has the newest file of each group until then."""
    table = Table(tmp_path / "ä b%25+", version)
    table.commit(1)
    table.commit(2)
    table.commit(3)
    table.action(4, "commit", "requested")
    table.action(4, "", "inflight")
    for group, minute in (("f", 1), ("g", 1), ("f", 2), ("h", 3), ("g", 4)):
        table.base(group, minute)
    table.file("notes.txt")
    table.file(f"f_0-1-2_{at(2)}.parquet", partition="_lakesieve")
    (table.root / "stray").mkdir()
    (table.root / "stray" / f"f_0-1-2_{at(1)}.parquet").touch()

    assert table.files() == [name("f", 2), name("g", 1), name("h", 3)]
    assert table.files(at(1)) == [name("f", 1), name("g", 1)]
    assert table.files("2026-01-01T12:02:59.999Z") == [name("f", 2), name("g", 1)]
    reader = table.open()
    assert reader.version().id == reader.version("20260101120500").id == at(3)
    assert reader.version().timestamp_ms is None
    kept = reader.retained_files().to_pylist()
    assert sorted(path.removeprefix(f"file:{table.root}/") for path in kept) == [
        name("f", 1),
        name("f", 2),
        name("g", 1),
        name("h", 3),
    ]
    for spec in (at(0), "2026-01-01T11:00:00Z", "soon"):
        with pytest.raises(NotFoundError) as raised:
            reader.version(spec)
        assert raised.value.kind is ErrorKind.VERSION_NOT_FOUND


def test_times_of_the_table(tmp_path: Path) -> None:
    """ISO times are compared in the time zone of the table."""
    table = Table(tmp_path, settings={"hoodie.table.timeline.timezone": "LOCAL"})
    table.commit(1)
    moment = datetime.strptime(at(1), "%Y%m%d%H%M%S%f").astimezone()
    assert table.open().version(moment.astimezone(UTC).isoformat()).id == at(1)


@pytest.mark.parametrize("version", [6, 9])
def test_replaced_groups(tmp_path: Path, version: int) -> None:
    """Clustering and overwriting replace file groups from their commit on."""
    table = Table(tmp_path, version)
    table.commit(1)
    table.commit(2, "replacecommit", partitionToReplaceFileIds={"a": ["f"], "b": ["g"]})
    table.base("f", 1)
    table.base("f", 1, partition="b")
    table.base("n", 2)

    assert table.files() == [name("n", 2), name("f", 1, "b")]
    assert table.files(at(1)) == [name("f", 1), name("f", 1, "b")]


def test_log_files(tmp_path: Path) -> None:
    """A slice with log files up to the version is not indexed; later log files do not matter."""
    table = Table(tmp_path)
    table.commit(1)
    table.commit(2, "deltacommit")
    table.action(3, "deltacommit", "requested")
    table.base("f", 1, size=100)
    table.base("g", 1)
    table.log("f", 2, size=7)
    table.log("f", 3, size=1000)

    assert table.files() == [name("f", 1, merged="#merged"), name("g", 1)]
    assert table.files(at(1)) == [name("f", 1), name("g", 1)]
    reader = table.open()
    live = reader.live_files(reader.version())
    # what is not complete does not count
    assert sorted(live.column("size").to_pylist()) == [10, 107]
    assert live.column("records").null_count == 2


def test_log_files_of_older_tables(tmp_path: Path) -> None:
    """Before version 8, a log file belongs to the slice in its name, at any version."""
    table = Table(tmp_path, 6)
    table.commit(1)
    table.commit(2, "deltacommit")
    table.commit(3)
    table.base("f", 1)
    table.base("f", 3)
    table.log("f", 1)

    assert table.files() == [name("f", 3)]
    assert table.files(at(1)) == table.files(at(2)) == [name("f", 1, merged="#merged")]


def test_a_log_file_belongs_where_it_was_complete(tmp_path: Path) -> None:
    """A delta commit that ends after a compaction began is part of the new slice."""
    table = Table(tmp_path)
    table.commit(1)
    slow = table.folder / f"{at(2)}_{at(5)}.deltacommit"
    table.commit(2, "deltacommit")
    (table.folder / f"{at(2)}_{at(2, seconds=30)}.deltacommit").rename(slow)
    table.commit(3)
    table.base("f", 1)
    table.base("f", 3)
    table.log("f", 2)

    assert table.files() == [name("f", 3, merged="#merged")]


def test_a_group_of_log_files_alone(tmp_path: Path) -> None:
    """Without a base file, the newest log file identifies the group."""
    table = Table(tmp_path)
    table.commit(1, "deltacommit")
    table.commit(2, "deltacommit")
    table.log("f", 1)
    table.log("f", 2)

    assert table.files() == [f"a/.f_{at(2)}.log.1_0-1-2#merged"]


def test_compactions_at_work(tmp_path: Path) -> None:
    """Until a compaction is complete, its slice is the one before with all log files."""
    table = Table(tmp_path)
    table.commit(1)
    operations = [{"partitionPath": "a", "fileId": "f"}]
    table.action(2, "compaction", "requested", operations=operations)
    table.action(2, "compaction", "inflight")
    table.commit(3, "deltacommit")
    table.base("f", 1, size=100)
    table.base("f", 2, size=5000)
    table.base("g", 1)
    table.log("f", 3, size=7)

    assert table.files() == [name("f", 1, merged="#merged"), name("g", 1)]
    reader = table.open()
    assert max(reader.live_files(reader.version()).column("size").to_pylist()) == 107
    table.commit(2)
    assert table.files() == [name("f", 2, merged="#merged"), name("g", 1)]


def _archive(table: Table, instants: Sequence[tuple[str, str]]) -> None:
    folder = table.folder / "history"
    folder.mkdir()
    rows = [{"instantTime": begun, "completionTime": ended} for begun, ended in instants]
    pq.write_table(pa.Table.from_pylist(rows), folder / "1.parquet")
    (folder / "_version_").write_text("3")
    (folder / "manifest_3").write_text(json.dumps({"files": [{"fileName": "1.parquet"}]}))


def test_the_archive(tmp_path: Path) -> None:
    """Files of archived commits count, and the archive has the completion times."""
    table = Table(tmp_path)
    table.commit(5)
    table.base("f", 1)
    table.base("f", 3)
    table.base("g", 5)
    table.log("f", 2)
    assert table.files() == [name("f", 3), name("g", 5)]

    _archive(table, [(at(1), at(1)), (at(2), at(4)), (at(3), at(3))])
    assert table.files() == [name("f", 3, merged="#merged"), name("g", 5)]
    (table.folder / "history" / "1.parquet").write_bytes(b"PAR1 damaged")
    with pytest.raises(StorageError, match="archive"):
        table.files()


def test_versions_that_are_not_kept(tmp_path: Path) -> None:
    """A version cannot be read after cleaning removed its files, or while a commit is open."""
    table = Table(tmp_path)
    for minute in (1, 2, 3, 4):
        table.commit(minute)
    table.base("f", 4)
    table.action(5, "clean", earliestCommitToRetain=at(2))
    assert table.files(at(2)) == []
    with pytest.raises(NotFoundError, match="no longer has"):
        table.files(at(1))

    table.action(2, "commit", "requested")
    assert table.files(at(3)) == []
    (table.folder / f"{at(2)}_{at(2, seconds=30)}.commit").unlink()
    with pytest.raises(UnsupportedError, match="not complete"):
        table.files(at(3))
    # the newest is what every reader sees
    assert table.files() == [name("f", 4)]


def test_what_cleaning_does_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that are removed during the listing never make a version with fewer rows."""
    table = Table(tmp_path)
    for minute in (1, 2):
        table.commit(minute)
    table.base("f", 1)
    table.base("f", 2)
    listing = Storage.objects

    def cleaned(self: Storage, prefix: str, *, after: str = "") -> list[ObjectInfo]:
        if self.location == str(table.root):
            (table.root / name("f", 1)).unlink(missing_ok=True)
            table.action(3, "clean", earliestCommitToRetain=at(2))
        return listing(self, prefix, after=after)

    reader = table.open()
    first = reader.version(at(1))
    monkeypatch.setattr(Storage, "objects", cleaned)
    with pytest.raises(NotFoundError, match="no longer has"):
        reader.live_files(first)


def test_bootstrapped_files(tmp_path: Path) -> None:
    """Files whose rows are in another table are not indexed."""
    table = Table(tmp_path)
    table.commit(1)
    table.file("f_0-1-2_00000000000001.parquet")

    assert table.files() == ["a/f_0-1-2_00000000000001.parquet#merged"]


def test_columns(tmp_path: Path) -> None:
    """Columns are found by name; partition columns come last and cannot be keys."""
    table = Table(tmp_path)
    table.commit(1)
    clustered = {"schema": json.dumps({**SCHEMA, "fields": []})}
    table.action(2, "replacecommit", operationType="CLUSTER", extraMetadata=clustered)
    reader = table.open()
    version = reader.version()
    columns = reader.columns(version)

    names = [field["name"] for field in json.loads(version.schema)["schema"]["fields"]]
    assert names[0] == "_hoodie_commit_time"
    assert names[5:] == ["k", "d", "s", "again", "both", "l", "p"]
    assert {path: column.kind for path, column in columns.items() if path[0] in names[5:]} == {
        ("k",): "integer",
        ("d",): "decimal",
        ("s",): "other",
        ("s", "n"): "date",
        ("again",): "other",
        ("again", "n"): "date",
        ("both",): "other",
        ("l",): "other",
        ("p",): "other",
    }


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"hoodie.table.version": "10"}, "table version 10"),
        ({"hoodie.table.version": "nine"}, "not a number"),
        ({"hoodie.table.base.file.format": "ORC"}, "ORC"),
        ({"hoodie.table.multiple.base.file.formats.enable": "true"}, "several"),
    ],
)
def test_tables_that_are_not_known(tmp_path: Path, settings: dict[str, str], said: str) -> None:
    """Features that a reader must know are refused, not ignored."""
    table = Table(tmp_path, settings=settings)
    table.commit(1)
    with pytest.raises(UnsupportedError, match=said):
        table.files()


def test_schemas_that_are_kept(tmp_path: Path) -> None:
    """A table that stores older schemas for reading its files is refused."""
    table = Table(tmp_path)
    schemas = {"schema": json.dumps(SCHEMA), "latest_schema": "{}"}
    table.action(1, "commit", operationType="UPSERT", extraMetadata=schemas)
    with pytest.raises(UnsupportedError, match="evolution"):
        table.files()


def test_names_that_are_not_known(tmp_path: Path) -> None:
    """A base file with an unusual name is an error, and so is a second base file."""
    table = Table(tmp_path)
    table.commit(1)
    table.file("part-0.parquet")
    with pytest.raises(UnsupportedError, match=r"part-0\.parquet"):
        table.files()
    (tmp_path / "a" / "part-0.parquet").unlink()
    table.base("f", 1)
    table.file(f"f_9-9-9_{at(1)}.parquet")
    with pytest.raises(UnsupportedError, match="same commit"):
        table.files()


def test_what_a_failed_task_left(tmp_path: Path) -> None:
    """Of two files of one commit, the table has the file that the commit lists."""
    table = Table(tmp_path, 6)
    table.file(f"f_9-9-9_{at(1)}.parquet")
    table.base("f", 1)
    table.commit(1, partitionToWriteStats={"a": [{"path": name("f", 1), "numInserts": 10}]})

    assert table.files() == [name("f", 1)]


def test_counts_of_a_commit(tmp_path: Path) -> None:
    """Rows and files of a commit are counted like in Hudi; an unknown commit has no counts."""
    table = Table(tmp_path, 6)
    inserts = {"numInserts": 10, "numUpdateWrites": 0, "numDeletes": 0, "prevCommit": "null"}
    updates = {"numInserts": 2, "numUpdateWrites": 3, "numDeletes": 4, "prevCommit": at(1)}
    log = {"numInserts": 9, "numUpdateWrites": 1, "numDeletes": 1, "prevCommit": None}
    table.commit(1, partitionToWriteStats={"a": [inserts, updates], "b": [log]})
    reader = table.open()

    counts = {"inserted": 12, "updated": 4, "deleted": 5, "files_added": 2}
    assert reader.commit_counts(at(1)) == counts
    assert reader.commit_counts(at(2)) == {}


def test_settings_of_any_signs(tmp_path: Path) -> None:
    """Escapes of Java's properties are read, for ASCII and for other characters."""
    table = Table(tmp_path, settings={"hoodie.table.partition.fields": r"gr\u00f6\u00dfe\:SIMPLE"})
    table.commit(1)
    assert table.open().partitioning == ["gr\u00f6\u00dfe"]


class Session:
    """An engine with its own spelling of locations and its own settings."""

    def __init__(self, place: str) -> None:
        self.place = place

    def location(self) -> str:
        return self.place

    def document(self, instant: str | None) -> str:
        return json.dumps({"read at": instant})

    def moment(self, millis: int) -> str:
        return at(1) if millis else at(0)


def test_a_session_spells_and_reads(tmp_path: Path) -> None:
    """Files have the session's spelling besides the normalized one, and versions its schema."""
    table = Table(tmp_path)
    table.commit(1)
    table.base("f", 1)
    session = Session(f"file://{tmp_path}")
    reader = HudiReader("t", session.place, options_by_environment(), session)
    version = reader.version("2026-01-01T00:00:00Z")
    assert version == TableVersion(id=at(1), schema=json.dumps({"read at": at(1)}))
    assert reader.uuid == table.open().uuid

    plain = table.open()
    (file,) = reader.live_files(plain.version()).to_pylist()
    assert file["scanned"] == file["location"] == f"file://{tmp_path}/{name('f', 1)}"
    assert file["path"] == f"file:{tmp_path}/{name('f', 1)}"
    session.place = f"file://{tmp_path}2"
    with pytest.raises(NotFoundError) as raised:
        reader.reload()
    assert raised.value.kind is ErrorKind.TABLE_REPLACED


def test_what_is_no_table(tmp_path: Path) -> None:
    """A missing folder, commit or schema and a damaged commit each have a clear error."""
    with pytest.raises(NotFoundError) as raised:
        open_table(f"hudi:{tmp_path}/none")
    assert raised.value.kind is ErrorKind.TABLE_NOT_FOUND
    table = Table(tmp_path / "t")
    with pytest.raises(UnsupportedError, match="no commits"):
        table.open()
    table.action(1, "commit", operationType="UPSERT")
    with pytest.raises(UnsupportedError, match="schema"):
        table.open().version()
    table.commit(2)
    path = table.folder / f"{at(2)}_{at(2, seconds=30)}.commit"
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(StorageError, match="timeline"):
        table.open().version()


@pytest.mark.parametrize(
    ("action", "said"),
    [
        ("replacecommit", {"partitionToReplaceFileIds": ["f"]}),
        ("replacecommit", {"partitionToReplaceFileIds": {"a": 5}}),
        ("compaction", {"operations": [{"partitionPath": "a"}]}),
        ("compaction", {"operations": 5}),
    ],
)
def test_damaged_plans(tmp_path: Path, action: str, said: dict[str, object]) -> None:
    """An action whose record has the wrong form is an error that names it."""
    table = Table(tmp_path)
    table.commit(1)
    table.base("f", 1)
    if action == "compaction":
        table.action(2, action, "requested")
    else:
        table.commit(2, action)
    (path,) = table.folder.glob(f"{at(2)}*")
    path.write_text(json.dumps(said))
    with pytest.raises(StorageError, match=f"timeline.*{at(2)}"):
        table.files()
