"""Data files as manifests list them, read once: a manifest never changes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.errors import ErrorKind, LakesieveError, StorageError, UnsupportedError
from lakesieve.storage import fingerprint, open_storage
from lakesieve.tables.avro import check_decoded
from lakesieve.tables.iceberg.statistics import METRICS, DataFileRows, field_ids
from lakesieve.tables.paths import identified, normal_paths
from lakesieve.tables.statistics import MOST_FILES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized

    from lakesieve.storage import StorageOptions

    _Read = TypeVar("_Read", bound=Sized)
else:
    _Read = TypeVar("_Read")

FILES_SCHEMA = pa.schema([("path", pa.string()), ("size", pa.int64()), ("records", pa.int64())])
"""Live files of a version."""

_COLUMNS = {"file_path": "path", "file_size_in_bytes": "size", "record_count": "records"}
"""Of a data file in a manifest, and ours."""

_DATA, _DELETED = 0, 2
_LARGEST = 1 << 31
_MAX_FILES = 2_000_000
_THREADS = 8


class ManifestCache(Generic[_Read]):
    """What was read of manifests, by their paths; the least recently used is forgotten.

    One cache serves all callers. The same path is another file at another endpoint, and for other
    credentials perhaps one that they may not read.

    Args:
        max_files: How many data files are kept in all.
    """

    def __init__(self, max_files: int) -> None:
        self._max_files = max_files
        self._known: OrderedDict[tuple[str, str], _Read] = OrderedDict()
        self._files = 0
        self._lock = threading.Lock()

    def of(
        self, paths: Sequence[str], read: Callable[[str], _Read], settings_of: Callable[[str], str]
    ) -> list[_Read]:
        """What there is in some manifests, in their order."""
        keys = {path: (settings_of(path), path) for path in paths}
        with self._lock:
            known = {path: self._known.get(key) for path, key in keys.items()}
        unread = [path for path, found in known.items() if found is None]
        if len(unread) > 1:
            with ThreadPoolExecutor(min(_THREADS, len(unread))) as pool:
                new = dict(zip(unread, pool.map(read, unread), strict=True))
        else:
            new = {path: read(path) for path in unread}
        there = {path: found for path, found in known.items() if found is not None} | new
        self._keep(keys.values(), {keys[path]: found for path, found in new.items()})
        return [there[path] for path in paths]

    def _keep(self, used: Iterable[tuple[str, str]], new: Mapping[tuple[str, str], _Read]) -> None:
        with self._lock:
            for key, found in new.items():
                if key not in self._known:
                    self._known[key] = found
                    self._files += len(found)
            for key in used:
                if key in self._known:
                    self._known.move_to_end(key)
            while self._files > self._max_files and self._known:
                self._files -= len(self._known.popitem(last=False)[1])


_FILES: ManifestCache[pa.Table] = ManifestCache(_MAX_FILES)
# by the manifests of a snapshot
_LIVE: ManifestCache[pa.Table] = ManifestCache(_MAX_FILES)
_MAP_TYPES = {
    name: pa.map_(pa.int32(), pa.binary() if name.endswith("bounds") else pa.int64())
    for name in METRICS
}


def data_files(
    snapshots: Iterable[Mapping[str, Any]], options: StorageOptions, name: str
) -> pa.Table:
    """Live data files of some snapshots, those of a manifest once.

    Raises:
        UnsupportedError: A snapshot is written as only the oldest writers did.
        StorageError: A manifest cannot be read.
    """
    return _together(_read(snapshots, options, name).values())


def live_files(snapshot: Mapping[str, Any], options: StorageOptions, name: str) -> pa.Table:
    """Live data files of one snapshot, named as indexes know them; kept for those who come again.

    Raises:
        UnsupportedError: The snapshot is written as only the oldest writers did.
        StorageError: A manifest cannot be read.
    """
    tables = _read([snapshot], options, name)
    settings_of = _settings_by(options)
    of_all = "\0".join(sorted(set(map(settings_of, tables))))
    (live,) = _LIVE.of(
        ["\0".join(tables)], lambda _: identified(_together(tables.values())), lambda _: of_all
    )
    return live


def _settings_by(options: StorageOptions) -> Callable[[str], str]:
    """Return a function that tells the fingerprint of the settings for a path."""
    known: dict[str, str] = {}

    def settings_of(path: str) -> str:
        # the settings are those of a whole bucket
        place = "/".join(path.split("/", 3)[:3])
        if place not in known:
            known[place] = fingerprint(tuple(sorted(options(place).items())))
        return known[place]

    return settings_of


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _ManifestMetrics:
    """The statistics of the live data files of one manifest.

    Args:
        files: ``path``, and the maps of ``METRICS``.
        partitions: The values of the fields of each partition, in the order of the spec.
    """

    files: pa.Table
    partitions: Sequence[tuple[Any, ...]]

    def __len__(self) -> int:
        return len(self.partitions)


_METRICS: ManifestCache[_ManifestMetrics] = ManifestCache(MOST_FILES)


def metrics_of_files(
    snapshot: Mapping[str, Any],
    specs: Mapping[int, Sequence[Mapping[str, Any]]],
    options: StorageOptions,
    name: str,
) -> DataFileRows:
    """The statistics of the live data files of one snapshot, from its manifests.

    Raises:
        UnsupportedError: The snapshot is written as only the oldest writers did.
        StorageError: A manifest cannot be read.
    """
    with _readable(name):
        listed = {m["manifest_path"]: m for m in _manifests(snapshot, options, name)}
        found = _METRICS.of(
            list(listed), lambda path: _manifest_metrics(path, options), _settings_by(options)
        )
    empty = pa.schema([("path", pa.string()), *_MAP_TYPES.items()]).empty_table()
    files = pa.concat_tables([empty, *(one.files for one in found)])
    spec_ids: list[int] = []
    partitions: list[Mapping[int, Any]] = []
    for manifest, one in zip(listed.values(), found, strict=True):
        spec_id = int(manifest.get("partition_spec_id") or 0)
        ids = field_ids(specs.get(spec_id, ()))
        spec_ids += [spec_id] * len(one)
        partitions += [
            dict(zip(ids, values, strict=True)) if len(ids) == len(values) else {}
            for values in one.partitions
        ]

    def metric(metric: str, field: int) -> list[Any]:
        key = pa.scalar(field, pa.int32())
        values: list[Any] = pc.map_lookup(files.column(metric), key, "first").to_pylist()
        return values

    paths = normal_paths(files.column("path"))
    return DataFileRows(paths=paths, spec_ids=spec_ids, partitions=partitions, metric=metric)


def _manifest_metrics(path: str, options: StorageOptions) -> _ManifestMetrics:
    wanted = {"file_path", "partition", *METRICS}
    records = _records(path, options, {"status": None, "data_file": wanted})
    files = [entry["data_file"] for entry in records if entry["status"] != _DELETED]
    columns: dict[str, Any] = {"path": pa.array([f["file_path"] for f in files], pa.string())}
    for name, kind in _MAP_TYPES.items():
        maps = [f.get(name) for f in files]
        columns[name] = pa.array(
            [None if m is None else [(one["key"], one["value"]) for one in m] for m in maps], kind
        )
    partitions = [tuple((file.get("partition") or {}).values()) for file in files]
    return _ManifestMetrics(files=pa.table(columns), partitions=partitions)


def _together(tables: Iterable[pa.Table]) -> pa.Table:
    return pa.concat_tables([FILES_SCHEMA.empty_table(), *tables])


def _read(
    snapshots: Iterable[Mapping[str, Any]], options: StorageOptions, name: str
) -> dict[str, pa.Table]:
    """The files of each manifest, by its path."""
    with _readable(name):
        listed = (m for s in snapshots for m in _manifests(s, options, name))
        manifests = {manifest["manifest_path"]: None for manifest in listed}
        tables = _FILES.of(
            list(manifests), lambda path: _files(path, options), _settings_by(options)
        )
    return dict(zip(manifests, tables, strict=True))


@contextmanager
def _readable(name: str) -> Iterator[None]:
    """Turn whatever reading manifests ends in into an error that names the table."""
    try:
        yield
    except StorageError:
        raise
    except (LakesieveError, ValueError, TypeError, KeyError, EOFError, OSError) as error:
        if isinstance(error, UnsupportedError):
            raise
        first = str(error).strip().partition("\n")[0]
        raise StorageError(
            f"The files of {name} cannot be listed: {type(error).__name__}: {first}",
            kind=ErrorKind.STORAGE_FAILED,
            hint="No query of this version can be planned either; check the credentials, "
            "restore the table's metadata, or name another version.",
        ) from error


def _manifests(
    snapshot: Mapping[str, Any], options: StorageOptions, name: str
) -> list[dict[str, Any]]:
    """A snapshot's manifests of data files, as its manifest list has them."""
    path = snapshot.get("manifest-list")
    if path is None:
        raise UnsupportedError(
            f"{name} has snapshots without manifest lists, as its oldest writers left them.",
            kind=ErrorKind.UNSUPPORTED_TABLE,
            hint="Open it with a Spark session.",
        )
    listed = _records(path, options)
    # the first version of the format has no others
    return [entry for entry in listed if (entry.get("content") or 0) == _DATA]


def _files(path: str, options: StorageOptions) -> pa.Table:
    records = _records(path, options, {"status": None, "data_file": set(_COLUMNS)})
    files = [entry["data_file"] for entry in records if entry["status"] != _DELETED]
    columns = {ours: [file[theirs] for file in files] for theirs, ours in _COLUMNS.items()}
    return pa.table(columns, schema=FILES_SCHEMA)


def _records(
    path: str, options: StorageOptions, fields: Mapping[str, set[str] | None] | None = None
) -> list[dict[str, Any]]:
    """The records of an Avro file."""
    import fastavro

    folder, _, file = path.rpartition("/")
    storage = open_storage(folder, options(folder), renew=options.renewed)
    data = storage.get(file, most=_LARGEST)
    check_decoded(data)
    wanted = None
    if fields is not None:
        wanted = _chosen(fastavro.reader(BytesIO(data)).writer_schema, fields)
    records: list[Any] = list(fastavro.reader(BytesIO(data), wanted))
    return records


def _chosen(schema: Any, fields: Mapping[str, set[str] | None]) -> dict[str, Any]:
    """Some fields of a record: statistics take most of the time to decode."""
    chosen = []
    for field in schema["fields"]:
        own = fields.get(field["name"])
        if own is not None:
            inner = [one for one in field["type"]["fields"] if one["name"] in own]
            chosen.append(field | {"type": field["type"] | {"fields": inner}})
        elif field["name"] in fields:
            chosen.append(field)
    # what the parser has noted is of the whole schema
    return {k: v for k, v in schema.items() if not k.startswith("__")} | {"fields": chosen}
