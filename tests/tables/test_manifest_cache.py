"""Cached manifests of Iceberg belong to one endpoint."""

from __future__ import annotations

import io
from functools import partial

import fastavro
import pytest
from tests.storage.s3_servers import BUCKET, OTHER_SERVER, hadoop_settings

from lakesieve.storage import StorageOptions, open_storage
from lakesieve.tables.iceberg.manifest_cache import ContentCache
from lakesieve.tables.iceberg.manifests import data_files, live_files

FOLDER = f"s3://{BUCKET}/manifests/t/metadata"
FILE = {"file_path": "string", "file_size_in_bytes": "long", "record_count": "long"}


def _fields(types: dict[str, object]) -> list[dict[str, object]]:
    return [{"name": name, "type": type_} for name, type_ in types.items()]


def _avro(types: dict[str, object], record: dict[str, object]) -> bytes:
    sink = io.BytesIO()
    schema = {"type": "record", "name": "r", "fields": _fields(types)}
    fastavro.writer(sink, schema, [record])
    return sink.getvalue()


def _options(server: str) -> StorageOptions:
    return StorageOptions(conf=hadoop_settings(server))


def _write(server: str, data_file: str) -> None:
    """A manifest list and its manifest, under the same names at each server."""
    storage = open_storage(FOLDER, _options(server)(FOLDER))
    entry = {"type": "record", "name": "r2", "fields": _fields(dict(FILE))}
    file = {"file_path": data_file, "file_size_in_bytes": 1, "record_count": 1}
    manifest = _avro({"status": "int", "data_file": entry}, {"status": 1, "data_file": file})
    storage.replace("m1.avro", manifest)
    listed = {"manifest_path": f"{FOLDER}/m1.avro", "content": 0}
    storage.replace("snap-1.avro", _avro({"manifest_path": "string", "content": "int"}, listed))


def test_endpoints_do_not_share_manifests() -> None:
    """The same manifest path at another endpoint is another manifest."""
    snapshot = {"manifest-list": f"{FOLDER}/snap-1.avro"}
    for server, name in (("moto", "honest"), (OTHER_SERVER, "forged")):
        _write(server, f"s3://{BUCKET}/{name}.parquet")

    def paths(server: str) -> set[str]:
        options = _options(server)
        tables = (data_files([snapshot], options, "t"), live_files(snapshot, options, "t"))
        return {path for table in tables for path in table.column("path").to_pylist()}

    assert paths(OTHER_SERVER) == {f"s3://{BUCKET}/forged.parquet"}
    assert paths("moto") == {f"s3://{BUCKET}/honest.parquet"}


@pytest.mark.timeout(20)
def test_what_makes_one_entry_may_ask_for_others() -> None:
    """An entry that is made from two hundred other entries is cached, whatever their keys are."""
    cache = ContentCache(1 << 20)

    def entry(at: int) -> tuple[int, int]:
        return at + 1, 8

    def together() -> tuple[int, int]:
        return sum(cache.get((at,), partial(entry, at)) for at in range(200)), 8

    assert cache.get(("all",), together) == sum(range(1, 201))
