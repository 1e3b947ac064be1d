"""Objects under one root: the spellings of locations, exclusive create, typed errors."""

from __future__ import annotations

import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from lakesieve.errors import (
    ErrorKind,
    InvalidInputError,
    NotFoundError,
    StorageError,
    UnsupportedError,
)
from lakesieve.storage import local_path, normalized, open_storage

if TYPE_CHECKING:
    from pathlib import Path

    from lakesieve.storage import Storage


@pytest.fixture(params=["disk", "memory"])
def storage(tmp_path: Path, request: pytest.FixtureRequest) -> Storage:
    """A fresh root with awkward characters in its path."""
    if request.param == "memory":
        return open_storage(f"memory://{request.node.name}")
    return open_storage(str(tmp_path / "wäre house%25 #1" / "t"))


@pytest.mark.parametrize(
    ("location", "normal"),
    [
        ("/a/b", "/a/b"),
        ("file:/a/b", "/a/b"),
        ("file:///a/b/", "/a/b"),
        ("/a/b%20c d", "/a/b%20c d"),
        ("s3a://bucket/x/", "s3://bucket/x"),
        ("S3://bucket/x", "s3://bucket/x"),
        ("gs://bucket/x", "gs://bucket/x"),
    ],
)
def test_spellings_of_one_location(location: str, normal: str) -> None:
    """Table formats spell locations in several ways; percent signs are left as they are."""
    assert normalized(location) == normal


@pytest.mark.parametrize("location", ["hdfs://node/x", "ftp://host/x", "http://host/x"])
def test_locations_out_of_reach_are_refused(location: str) -> None:
    """A scheme that cannot be reached is named, with what can be used instead."""
    with pytest.raises(UnsupportedError, match="s3://") as caught:
        open_storage(location)

    assert caught.value.kind is ErrorKind.UNSUPPORTED_STORAGE


def test_read_back(storage: Storage) -> None:
    """What was created is read whole, in ranges, listed and deleted."""
    storage.create("log/a b%20ü.json", b"0123456789")
    storage.create("files/x", b"")

    assert storage.get("log/a b%20ü.json") == b"0123456789"
    assert storage.get_range("log/a b%20ü.json", 2, 3) == b"234"
    assert storage.head("files/x").size == 0
    assert [(info.path, info.size) for info in storage.objects("log/")] == [
        ("log/a b%20ü.json", 10)
    ]
    assert storage.folders("") == ["files", "log"]
    storage.delete("files/x")
    storage.delete("files/x")
    assert storage.objects("files/") == []


def test_create_is_exclusive(storage: Storage) -> None:
    """Of many writers of one object exactly one succeeds, and its bytes stay."""

    def attempt(number: int) -> ErrorKind | None:
        try:
            storage.create("log/0.json", str(number).encode())
        except StorageError as error:
            return error.kind
        return None

    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(attempt, range(32)))

    assert told.count(None) == 1
    assert told.count(ErrorKind.ALREADY_EXISTS) == 31
    assert storage.get("log/0.json") == str(told.index(None)).encode()
    storage.probe()


def test_missing_objects_and_roots(storage: Storage) -> None:
    """What is not there is a NotFoundError that names it, and looking creates no folder."""
    with pytest.raises(NotFoundError, match=r"log/7\.json") as caught:
        storage.get("log/7.json")
    assert caught.value.kind is ErrorKind.OBJECT_NOT_FOUND
    with pytest.raises(NotFoundError):
        storage.head("log/7.json")
    assert storage.objects("log/") == []
    assert storage.folders("") == []
    if storage.is_local:
        assert not local_path(storage.location).exists()


def test_short_objects_are_no_crash(storage: Storage) -> None:
    """A range beyond the end gives the bytes that are there, or an error of the storage."""
    storage.create("x", b"0123")

    assert storage.get_range("x", 2, 10) == b"23"
    with pytest.raises(StorageError) as caught:
        storage.get_range("x", 9, 1)
    assert caught.value.kind is ErrorKind.STORAGE_FAILED


@pytest.mark.parametrize("path", ["../x", "a/../../x", "/etc/passwd", "a//b", "", "a/./b"])
def test_paths_stay_inside(storage: Storage, path: str) -> None:
    """No path leads out of the root."""
    for act in (storage.get, storage.delete, storage.head, storage.child):
        with pytest.raises(InvalidInputError):
            act(path)
    with pytest.raises(InvalidInputError):
        storage.create(path, b"")


def test_a_rewritten_object_has_another_version(tmp_path: Path) -> None:
    """The version text changes when an object's bytes are replaced."""
    storage = open_storage(str(tmp_path))
    storage.create("x", b"one")
    before = storage.head("x")
    os.utime(tmp_path / "x", ns=(1, 1))

    assert storage.head("x").version != before.version


def test_a_read_only_place_says_so(tmp_path: Path) -> None:
    """A place that cannot be written to gives READ_ONLY and what to do about it."""
    (tmp_path / "file").write_text("in the way")
    blocked = open_storage(str(tmp_path / "file" / "index"))

    with pytest.raises(StorageError, match="--location") as caught:
        blocked.create("x", b"")
    assert caught.value.kind is ErrorKind.READ_ONLY


def test_storages_travel(storage: Storage) -> None:
    """A storage is a value: pickled, it names the same objects."""
    storage.create("x", b"1")

    assert pickle.loads(pickle.dumps(storage)).get("x") == b"1"
