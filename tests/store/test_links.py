"""Behind symbolic links in an index on local disk, nothing is changed or deleted."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from tests.store.samples import DEFINITION, batch, covers

from lakesieve.errors import ErrorKind, UnsupportedError
from lakesieve.storage import open_storage
from lakesieve.store import IndexStore, repair, vacuum

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SEGMENT, CATALOGUE = f"{'a' * 40}.sieve", f"{'a' * 40}.parquet"
FOREIGN = ("notes.txt", "notes#1", SEGMENT, f"{SEGMENT}#1", CATALOGUE, f"{0:020d}.json")


def tidied(store: IndexStore) -> object:
    """Vacuum the index."""
    return vacuum(store, older_than=timedelta(0), dry_run=False)


def dropped(store: IndexStore) -> object:
    """Delete the index."""
    store.drop()
    return None


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """A folder of another owner, with some files that are named like objects of an index."""
    folder = tmp_path / "foreign"
    folder.mkdir()
    for name in FOREIGN:
        (folder / name).write_bytes(b"of somebody else")
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The root of an index."""
    place = tmp_path / "t/_lakesieve/k"
    storage = open_storage(str(place))
    IndexStore(storage).create(DEFINITION, batch(storage, 0, "create"))
    return place


@pytest.mark.parametrize("act", [tidied, dropped])
@pytest.mark.parametrize("name", ["log", "segments", "files", "borrowers"])
def test_a_linked_folder_is_refused(
    root: Path, foreign: Path, name: str, act: Callable[[IndexStore], object]
) -> None:
    """If a folder of the index is a link, nothing is deleted in it or in the index."""
    folder = root / name
    if folder.exists():
        folder.rename(root / "moved")
    folder.symlink_to(foreign)
    before = {path for path in root.rglob("*") if path.is_file()}

    with pytest.raises(UnsupportedError, match="link"):
        act(IndexStore(open_storage(str(root))))
    assert sorted(path.name for path in foreign.iterdir()) == sorted(FOREIGN)
    assert {path for path in root.rglob("*") if path.is_file()} == before


def test_an_index_of_another_table_is_not_dropped_by_a_link(root: Path, tmp_path: Path) -> None:
    """A link in a table's folder to the indexes of another table cannot drop them."""
    (tmp_path / "u").mkdir()
    (tmp_path / "u/_lakesieve").symlink_to(root.parent)
    linked = IndexStore(open_storage(str(tmp_path / "u/_lakesieve/k")))

    for act in (dropped, tidied):
        with pytest.raises(UnsupportedError) as caught:
            act(linked)
        assert caught.value.kind is ErrorKind.UNSUPPORTED_STORAGE
    assert covers(IndexStore(open_storage(str(root)))) == {0}


@pytest.mark.parametrize("act", [tidied, dropped])
def test_files_of_others_stay(
    root: Path, foreign: Path, act: Callable[[IndexStore], object]
) -> None:
    """Only files that lakesieve wrote are deleted, and of a link only the link itself."""
    others = [root / "notes.txt", root / "notes#1", root / "segments/notes.txt", root / "log/x"]
    others += [root / "segments/sub" / SEGMENT, root / "files/notes#1"]
    for path in others:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"of somebody else")
    link = root / "segments" / SEGMENT
    link.symlink_to(foreign / SEGMENT)

    act(IndexStore(open_storage(str(root))))

    assert all(path.exists() for path in others)
    assert not link.is_symlink()
    assert sorted(path.name for path in foreign.iterdir()) == sorted(FOREIGN)


def test_a_link_that_appears_after_the_check_is_not_followed(root: Path, foreign: Path) -> None:
    """Each deletion and each write checks for links, not only the operation's start."""
    storage = open_storage(str(root))
    storage.check_unlinked("segments")
    (root / "segments").rename(root / "moved")
    (root / "segments").symlink_to(foreign)

    acts: list[Callable[[], object]] = [
        lambda: storage.delete(f"segments/{SEGMENT}"),
        lambda: storage.replace(f"segments/{SEGMENT}", b""),
    ]
    for act in acts:
        with pytest.raises(UnsupportedError, match="link"):
            act()
    assert (foreign / SEGMENT).read_bytes() == b"of somebody else"


def test_a_repair_writes_nothing_behind_a_link(root: Path, foreign: Path) -> None:
    """A log that is a link is not written to, even to save an index."""
    (root / "log").rename(root / "moved")
    (root / "log").symlink_to(foreign)

    with pytest.raises(UnsupportedError, match="link"):
        repair(IndexStore(open_storage(str(root))), dry_run=False)
    assert sorted(path.name for path in foreign.iterdir()) == sorted(FOREIGN)


def test_a_place_may_be_chosen_by_a_link(tmp_path: Path) -> None:
    """Folders above the table's index folder may be links, because users choose them."""
    (tmp_path / "disk").mkdir()
    (tmp_path / "t").symlink_to(tmp_path / "disk")
    storage = open_storage(str(tmp_path / "t/_lakesieve/k"))
    store = IndexStore(storage)
    store.create(DEFINITION, batch(storage, 0, "create"))
    batch(storage, 700)

    assert len(vacuum(store, older_than=timedelta(0), dry_run=False).paths) == 3
    assert covers(store) == {0}
    store.drop()
    assert [path for path in (tmp_path / "disk").rglob("*") if path.is_file()] == []
