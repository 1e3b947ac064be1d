"""Optimistic commits: which concurrent commits are compatible, and which are not."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from tests.store.samples import DEFINITION, batch, covers, data_files

import lakesieve
from lakesieve.errors import CommitConflictError, CorruptIndexError, ErrorKind
from lakesieve.storage import open_storage
from lakesieve.store import (
    CataloguesLive,
    Changes,
    FilesUncovered,
    HeadIs,
    IndexStore,
    NoOtherSegments,
    Retained,
    SameIndex,
    SegmentsLive,
    conflicts,
)
from lakesieve.store.index_store import WRITER

if TYPE_CHECKING:
    from pathlib import Path

    from lakesieve.store import Requirement, Snapshot

NOTHING = Changes(operation="nothing")


@pytest.fixture
def store(tmp_path: Path) -> IndexStore:
    """An index of batches 0 and 100."""
    made = IndexStore(open_storage(str(tmp_path / "index")), sleep=lambda _: None)
    base = made.create(DEFINITION, batch(made.storage, 0, "create"))
    made.commit(base, batch(made.storage, 100))
    return made


def removal(state: Snapshot, position: int) -> Changes:
    """Remove a catalogue with its segments."""
    gone = state.catalogues[position].id
    return Changes(
        operation="remove",
        remove_catalogues=(gone,),
        remove_segments=tuple(e.path for e in state.segments if e.catalogue == gone),
    )


def test_what_does_not_clash_is_made_on_top(store: IndexStore) -> None:
    """A commit that was prepared on an old state is applied after the commits of others."""
    base = store.snapshot()
    store.commit(base, batch(store.storage, 200))
    store.commit(base, removal(base, 0))
    last = store.commit(base, batch(store.storage, 300))

    assert last.number == 4
    assert covers(store) == {100, 200, 300}
    assert store.snapshot() == last


def test_what_is_gone_cannot_be_removed_again(store: IndexStore) -> None:
    """If two writers merge the same segments, the second one learns what happened, and by whom."""
    base = store.snapshot()
    store.commit(base, removal(base, 0))

    with pytest.raises(CommitConflictError, match=r"remove.*commit 1.*after 2 \(remove") as caught:
        store.commit(base, removal(base, 0))
    assert caught.value.kind is ErrorKind.CONFLICT
    assert covers(store) == {100}


def test_a_catalogue_is_not_taken_from_its_segments(store: IndexStore) -> None:
    """A catalogue is removed with all of its segments or not at all."""
    base = store.snapshot()
    half = dataclasses.replace(
        removal(base, 0), remove_segments=removal(base, 0).remove_segments[:1]
    )

    with pytest.raises(CommitConflictError, match="would have no catalogue"):
        store.commit(base, half)


def test_a_segment_is_not_added_to_a_catalogue_that_is_gone(store: IndexStore) -> None:
    """Segments for a catalogue that another commit removed are refused."""
    base = store.snapshot()
    gone = removal(base, 0)
    kept = tuple(e for e in base.segments if e.path in gone.remove_segments)
    store.commit(base, gone)

    with pytest.raises(CommitConflictError, match=base.catalogues[0].id):
        store.commit(base, Changes(operation="add", add_segments=kept))


def test_a_segment_of_two_catalogues_is_refused(store: IndexStore) -> None:
    """A segment cannot belong to two catalogues, because one of them would lose its keys."""
    base = store.snapshot()
    stolen = dataclasses.replace(base.segments[0], catalogue=base.catalogues[1].id)

    with pytest.raises(CorruptIndexError, match="two catalogues"):
        store.commit(base, Changes(operation="add", add_segments=(stolen,)))


def test_equal_keys_of_two_batches_are_two_segments(tmp_path: Path) -> None:
    """Two batches with equal keys in different files do not share a segment file."""
    storage = open_storage(str(tmp_path / "index"))
    paths = {entry.path for first in (0, 100) for entry in batch(storage, first).add_segments}
    same = pa.table(
        {
            "path": ["a"],
            "size": [1],
            "records": [1],
            "has_null": [False],
            "has_value": [True],
        }
    )
    from lakesieve.format import catalogue_id
    from lakesieve.sieve import build_blocks, sort_pairs
    from lakesieve.store import stage_segment

    blocks = build_blocks(*sort_pairs(pa.array([7]), pa.array([0], pa.int32()).to_numpy()))
    other = same.set_column(0, "path", [["b"]])
    for files in (same, other):
        name = catalogue_id(files.column("path"))
        paths.add(stage_segment(storage, blocks, unit_count=1, catalogue=name).path)

    assert len(paths) == 6


def test_files_are_covered_once(store: IndexStore) -> None:
    """A second commit with the same data files is refused, even after a merge."""
    base = store.snapshot()
    needs = (FilesUncovered(paths=pa.array(data_files(900))),)
    changes = batch(store.storage, 900)
    store.commit(base, changes, needs)

    with pytest.raises(CommitConflictError, match="covered already"):
        store.commit(base, changes, needs)
    store.commit(base, batch(store.storage, 800), needs[:0])
    assert covers(store) == {0, 100, 800, 900}


def test_a_base_that_was_cleaned_away_is_no_base(store: IndexStore) -> None:
    """A commit whose base was vacuumed away is not written below the new start of the log."""
    base = store.snapshot()
    state = base
    for _ in range(12):
        state = store.commit(state, NOTHING)
    for number in range(1, 10):
        store.storage.delete(f"log/{number:020d}.json")

    made = store.commit(base, batch(store.storage, 200))

    assert made.number == state.number + 1
    assert covers(store) == {0, 100, 200}


def test_a_hole_that_opens_late_is_noticed(store: IndexStore) -> None:
    """If the base is vacuumed away between the check and the commit, the commit is taken back."""
    base = store.snapshot(0)
    state = store.snapshot()
    for _ in range(12):
        state = store.commit(state, NOTHING)
    store.storage.delete(f"log/{1:020d}.json")

    made = store.commit(base, batch(store.storage, 200))

    assert made.number == state.number + 1
    assert not store.log.holds(1, made.write_id)
    assert covers(store) == {0, 100, 200}


def test_an_index_made_anew_is_another(store: IndexStore) -> None:
    """A commit that was prepared for a dropped index is not applied to its successor."""
    base = store.snapshot()
    store.drop()
    other = dataclasses.replace(DEFINITION, index_uuid="v")
    store.create(other, batch(store.storage, 0, "create"))

    with pytest.raises(CommitConflictError, match="another index"):
        store.commit(base, batch(store.storage, 200))
    assert store.snapshot().number == 0


def test_rollback_is_a_commit(store: IndexStore) -> None:
    """A rollback is a new commit, and a second rollback undoes it."""
    before, after = store.snapshot(0), store.snapshot(1)

    back = store.rollback(0)
    assert (back.catalogues, back.segments) == (before.catalogues, before.segments)
    assert back.table_version == before.table_version
    again = store.rollback(1)

    assert set(again.segments) == set(after.segments)
    assert [c.operation for c, _ in store.history()] == ["create", "refresh"] + 2 * ["rollback"]
    assert covers(store) == {0, 100}


def test_rollback_to_a_catalogue_that_was_written_anew(store: IndexStore) -> None:
    """A catalogue of the same data files may have another entry, and keep a segment."""
    base = store.snapshot()
    before = base.catalogues[0]
    rewritten = dataclasses.replace(before, sha256="f" * 64)
    anew = Changes(
        operation="compact",
        add_catalogues=(rewritten,),
        remove_catalogues=(before.id,),
        add_segments=tuple(e for e in base.segments if e.catalogue == before.id),
        remove_segments=tuple(e.path for e in base.segments if e.catalogue == before.id),
    )
    store.commit(base, anew)

    back = store.rollback(base.number)

    assert set(back.catalogues) == set(base.catalogues)
    assert set(back.segments) == set(base.segments)


@pytest.mark.parametrize(
    ("requirement", "broken"),
    [
        (SameIndex(index_uuid="u"), ""),
        (SameIndex(index_uuid="v"), "another index"),
        (HeadIs(number=1), ""),
        (HeadIs(number=0), "not the last one"),
        (Retained(number=1), ""),
        (Retained(number=2), "has been removed"),
        (SegmentsLive(paths=()), ""),
        (SegmentsLive(paths=("segments/x",)), "segments/x is no longer"),
        (CataloguesLive(ids=("x", "y")), "x and 1 more is no longer"),
        (NoOtherSegments(catalogues=("x",), paths=()), ""),
        (FilesUncovered(paths=pa.array(data_files(0))), ""),
        (FilesUncovered(paths=pa.array(data_files(100))), "4 data files are covered already"),
    ],
    ids=[
        *("same-index", "other-index", "head", "older-head", "kept", "not-kept", "none", "gone"),
        *("several-gone", "unshared", "covered-before", "covered-since"),
    ],
)
def test_conflicts_are_a_function(store: IndexStore, requirement: Requirement, broken: str) -> None:
    """Each requirement is judged from the two states alone, and names the conflict."""
    result = conflicts(
        [requirement],
        base=store.snapshot(0),
        head=store.snapshot(1),
        between=[store.log.read(1)],
        covered=store.covered_by(store.snapshot()),
    )

    assert [conflict.requirement for conflict in result] == ([requirement] if broken else [])
    assert all(broken in conflict.detail for conflict in result)


def test_commits_name_the_version_that_wrote_them() -> None:
    """The writer of a commit is the version of the package."""
    assert f"lakesieve {lakesieve.__version__}" == WRITER
