"""Roots to which an index may refer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakesieve.errors import InvalidInputError, UnsupportedError
from lakesieve.storage import TRUSTED_ROOTS, is_below, open_storage, trusted_folders

if TYPE_CHECKING:
    from pathlib import Path

BUCKET = "s3://lake/wh/sales/orders/_lakesieve/id"
DISK = "/data/wh/sales/orders/_lakesieve/id"


def _refused(index: str, other: str, trusted: str = "") -> bool:
    storage = open_storage(index, {TRUSTED_ROOTS: trusted} if trusted else None)
    try:
        return storage.at(other).location != other
    except UnsupportedError:
        return True


@pytest.mark.parametrize(
    ("index", "other"),
    [
        (BUCKET, "s3://lake/wh/sales/orders/_lakesieve/v"),
        (BUCKET, "s3://lake/wh/other/copy/_lakesieve/id"),
        ("s3://lake/sales/orders/_lakesieve/id", "s3://lake/elsewhere/x/_lakesieve/id"),
        (DISK, "/data/wh/other/copy/_lakesieve/id"),
        ("/data/orders/_lakesieve/id", "/data/copy/_lakesieve/id"),
        ("/home/ann/orders/_lakesieve/id", "/home/ann/copy/_lakesieve/id"),
        ("s3://lake/teams/a/uuid-1/id", "s3://lake/teams/a/uuid-2/id"),
        ("/srv/a%2eb/db/t/_lakesieve/id", "/srv/a%2eb/db/u/_lakesieve/id"),
    ],
)
def test_a_warehouse_is_trusted(index: str, other: str) -> None:
    """Indexes share objects within their warehouse, or within their bucket if it is one."""
    assert not _refused(index, other)


@pytest.mark.parametrize(
    ("index", "other"),
    [
        (BUCKET, "s3://lake/private/x/_lakesieve/id"),
        (BUCKET, "s3://lake/wh-2/x/y/_lakesieve/id"),
        (BUCKET, "s3://other/wh/sales/orders/_lakesieve/id"),
        (BUCKET, "s3://lake/wh/../private"),
        (BUCKET, "s3://lake/wh/%2e%2E/private"),
        (BUCKET, "s3://lake/wh/x%2f..%2Fprivate"),
        (BUCKET, "s3://lake/wh/a\\b"),
        (BUCKET, "s3a://lake/wh/sales/orders/_lakesieve/id"),
        (BUCKET, "/etc"),
        (DISK, "/data/wh/../private"),
        (DISK, "/data/wh/./x"),
        (DISK, "/etc/x"),
        (DISK, "/"),
        (DISK, "data/wh/x"),
        (DISK, ""),
        ("/orders/_lakesieve/id", "/etc/x"),
        ("/home/ann/orders/_lakesieve/id", "/home/bob/orders/_lakesieve/id"),
        ("s3://lake/teams/a/uuid-1/id", "s3://lake/teams/b/uuid-2/id"),
        ("s3://lake/teams/a/uuid-1/id", "s3://lake/teams/a2/uuid-2/id"),
        ("/srv/a%2eb/db/t/_lakesieve/id", "/srv/a%2eb/db/%2e%2e/%2e%2e/x"),
    ],
)
def test_other_places_are_not(index: str, other: str) -> None:
    """A place elsewhere, or one with an ambiguous spelling, is refused."""
    assert _refused(index, other)


def test_a_user_trusts_further_places() -> None:
    """A setting adds trusted places, whose names may contain blanks."""
    trusted = "s3a://other/shared indexes/ , /data"
    assert not _refused(BUCKET, "s3://other/shared indexes/x", trusted)
    assert not _refused("/wh/db/t/_lakesieve/id", "/data/x", trusted)
    assert _refused(BUCKET, "s3://other/shared indexes-2", trusted)
    assert _refused(BUCKET, "s3://other/shared indexes/../x", trusted)


@pytest.mark.parametrize(
    "text", ["indexes", "/", "//", "s3://", "/a/../b", "/ok,./x", "s3://b/%2E"]
)
def test_a_list_of_what_is_no_place_is_refused(text: str) -> None:
    """A relative or disguised place, or a whole disk, makes the setting invalid."""
    with pytest.raises(InvalidInputError, match="trusted"):
        trusted_folders(text)


@given(st.text(alphabet="./%2eEfF\\ab", max_size=12))
def test_no_spelling_leads_out(steps: str) -> None:
    """Whatever follows the warehouse's path, an accepted place is below it."""
    other = f"/data/wh/{steps}"
    if not _refused(DISK, other):
        assert ".." not in other.split("/")
        assert "%2e" not in other.lower()


@pytest.mark.parametrize(
    ("location", "below"),
    [
        ("s3://b/db/t/metadata/snap.avro", True),
        ("s3a://b/db/t/a%20b/snap.avro", True),
        ("s3://b/db/t", False),
        ("s3://b/db/t/", False),
        ("s3://b/db/t2/snap.avro", False),
        ("s3://other/db/t/snap.avro", False),
        ("s3://b/db/t/../u/snap.avro", False),
        ("s3://b/db/t/./snap.avro", False),
        ("s3://b/db/t/%2E%2e/u/snap.avro", False),
        ("s3://b/db/t/x\\..\\u", False),
        ("s3://b/db/t/snap.avro\n", False),
        ("", False),
    ],
)
def test_below_a_folder(location: str, below: bool) -> None:
    """An object is below a folder only if every store would look for it there."""
    assert is_below(location, "s3://b/db/t/") is below
    assert is_below("oss://b/t/metadata/snap.avro", "oss://b/t")
    assert not is_below("oss://b/t2/snap.avro", "oss://b/t")
    assert is_below("file:///t/m/snap.avro", "/t")


def test_a_link_leads_to_no_trusted_place(tmp_path: Path) -> None:
    """A folder of the warehouse that is a link is trusted only like its target."""
    index = tmp_path / "wh/db/t/_lakesieve/id"
    private = tmp_path / "private/x/_lakesieve/id"
    (tmp_path / "wh/db").mkdir(parents=True)
    private.mkdir(parents=True)
    (tmp_path / "wh/db/link").symlink_to(tmp_path / "private/x")
    linked = str(tmp_path / "wh/db/link/_lakesieve/id")

    assert _refused(str(index), linked)
    assert not _refused(str(index), linked, trusted=str(tmp_path / "private"))


def test_a_warehouse_may_be_reached_by_a_link(tmp_path: Path) -> None:
    """If the warehouse itself is a link, its indexes share objects as usual."""
    (tmp_path / "disk/db/other/_lakesieve/id").mkdir(parents=True)
    (tmp_path / "wh").symlink_to(tmp_path / "disk")
    index, other = (str(tmp_path / f"wh/db/{table}/_lakesieve/id") for table in ("t", "other"))

    assert not _refused(index, other)
