"""An index that refers to roots of other indexes: if one is not trusted, nothing is touched."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from tests.store.samples import DEFINITION, batch

from lakesieve.errors import ErrorKind, UnsupportedError
from lakesieve.index import IndexRegistry, ReasonCode
from lakesieve.storage import TRUSTED_ROOTS, open_storage
from lakesieve.store import (
    BlockCache,
    IndexReader,
    IndexStore,
    clone,
    compaction_changes,
    vacuum,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lakesieve.storage import Storage


@pytest.fixture
def clone_storage(tmp_path: Path) -> Storage:
    """A clone that borrows from an index beside it, and from one far away, which is not trusted."""
    trusted = {TRUSTED_ROOTS: str(tmp_path)}
    far, near, target = (
        open_storage(str(tmp_path / name / "db/t/_lakesieve/k"), trusted)
        for name in ("far/w", "w", "w/copies")
    )
    IndexStore(far).create(DEFINITION, batch(far, 0, "create"))
    clone(IndexStore(far), near)
    near_store = IndexStore(near)
    near_store.commit(near_store.snapshot(), batch(near, 100))
    clone(near_store, target)
    # a state that is not kept any more, so that a vacuum has something to commit
    store = IndexStore(target)
    store.commit(store.snapshot(), batch(target, 200))
    changes = compaction_changes(store, store.snapshot())
    assert changes is not None
    store.commit(store.snapshot(), changes)
    return replace(target, options=())


def look_up(store: IndexStore) -> object:
    """Open the index."""
    return IndexReader(store, store.snapshot(), BlockCache())


def tell(store: IndexStore) -> object:
    """Do a dry run of a vacuum."""
    return vacuum(store, retain_commits=1, older_than=timedelta(0))


def tidy(store: IndexStore) -> object:
    """Vacuum the index."""
    return vacuum(store, retain_commits=1, older_than=timedelta(0), dry_run=False)


def clone_again(store: IndexStore) -> object:
    """Clone the index to a place next to it."""
    return clone(store, open_storage(f"{store.storage.location}-2"))


@pytest.mark.parametrize("act", [look_up, tell, tidy, clone_again])
def test_nothing_is_touched(
    clone_storage: Storage, tmp_path: Path, act: Callable[[IndexStore], object]
) -> None:
    """An index with an untrusted root is refused before anything is written or deleted."""

    def everything() -> dict[str, tuple[int, int]]:
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        return {str(f): (f.stat().st_ino, f.stat().st_mtime_ns) for f in files}

    before = everything()
    with pytest.raises(UnsupportedError) as caught:
        act(IndexStore(clone_storage))

    assert caught.value.kind is ErrorKind.UNTRUSTED_ROOT
    assert everything() == before


def test_a_query_does_without_it(clone_storage: Storage, tmp_path: Path) -> None:
    """A reader reports why it does not use such an index, and uses the table's other indexes."""
    target = open_storage(str(tmp_path / "w/copies/db/t/_lakesieve/other"))
    IndexStore(target).create(DEFINITION, batch(target, 0, "create"))

    indexes, reasons = IndexRegistry().indexes(str(tmp_path / "w/copies/db/t"), "t")

    assert [index.storage.location for index in indexes] == [target.location]
    assert [reason.code for reason in reasons] == [ReasonCode.INDEX_UNTRUSTED]
    assert clone_storage.location in reasons[0].detail
