"""Merging segments into fewer, from the index alone."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.defaults import COMPACTION
from lakesieve.errors import ErrorKind, InvalidInputError
from lakesieve.format import catalogue_id
from lakesieve.sieve import merge_streams, successor
from lakesieve.store.cache import BlockCache
from lakesieve.store.segment_loader import SegmentLoader
from lakesieve.store.snapshot import Changes
from lakesieve.store.staging import stage_catalogue, stage_segment

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lakesieve.format import SegmentEntry
    from lakesieve.sieve import Blocks
    from lakesieve.store.index_store import IndexStore
    from lakesieve.store.segment_loader import OpenedSegment
    from lakesieve.store.snapshot import Snapshot

SEGMENT_ORDINALS = 2_000_000

# how much more a merge of many is worth than the same bytes in a merge of few: with 5 a byte is
# written least often in a million refreshes (docs/scale.md), with less the newest are merged too
# often, with more the large ones
_FEWER = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionPolicy:
    """When deltas are merged, and which.

    A *delta* is a catalogue with its segments, as one refresh adds it.

    Args:
        deltas: Merge when there are more than this many behind the first catalogue; 0 merges at
            every refresh.
    """

    deltas: int = int(COMPACTION)

    @classmethod
    def parse(cls, text: str, *, merges_on_read: bool = True) -> Self:
        """Read the policy that is stored with an index.

        Args:
            text: How many deltas there may be, or ``auto``.
            merges_on_read: For ``auto``, whether the table does: one that copies on write has its
                index rewritten at every refresh as well.
        """
        if text == "auto":
            return cls() if merges_on_read else cls(deltas=0)
        if not re.fullmatch(r"\d{1,6}", text):
            raise InvalidInputError(
                f"{text!r} is not a compaction policy.",
                kind=ErrorKind.INVALID_ARGUMENT,
                hint="Give a number of deltas, 0 to merge at every refresh, or auto.",
            )
        return cls(deltas=int(text))


def wants_compaction(snapshot: Snapshot, policy: CompactionPolicy | None = None) -> tuple[str, ...]:
    """Return the ids of the catalogues that should be merged now; none where it is not worth it."""
    rule = policy or CompactionPolicy()
    if len(snapshot.catalogues) - 1 <= rule.deltas:
        return ()
    if rule.deltas == 0:
        return tuple(entry.id for entry in snapshot.catalogues)
    sizes = {entry.id: entry.size for entry in snapshot.catalogues}
    for segment in snapshot.segments:
        sizes[segment.catalogue] += segment.size
    newest_first = [entry.id for entry in reversed(snapshot.catalogues)]
    totals = itertools.accumulate(sizes[name] for name in newest_first)
    # the price of merging the newest 2, 3, ...: to take all each time would write the large ones
    # again for every few small ones
    prices = [total / number**_FEWER for number, total in enumerate(totals) if number]
    taken = 2 + prices.index(min(prices))
    return tuple(reversed(newest_first[:taken]))


def compaction_changes(
    store: IndexStore,
    snapshot: Snapshot,
    *,
    catalogues: Sequence[str] | None = None,
    live: pa.Array | pa.ChunkedArray | None = None,
    segment_ordinals: int = SEGMENT_ORDINALS,
) -> Changes | None:
    """Merge catalogues with all their segments into one, and stage the result.

    Neither the table nor its data files are read. Memory is bounded by the row groups of as many
    segments as overlap at one key, and by one segment of the result.

    ``catalogues`` are merged, by default all. ``live`` are the data files that any kept table
    version holds; others are dropped. A merged segment holds about ``segment_ordinals`` ordinals.

    Returns:
        The changes to commit, or ``None`` when there is nothing to gain.
    """
    names = {entry.id for entry in snapshot.catalogues} if catalogues is None else set(catalogues)
    chosen = [entry for entry in snapshot.catalogues if entry.id in names]
    if not chosen:
        return None
    segments = [entry for entry in snapshot.segments if entry.catalogue in names]
    # every part is read once, so that nothing is worth keeping
    loader = SegmentLoader(store.storage, snapshot, BlockCache(0))
    files, ordinals = _merged_files([loader.catalogue(entry) for entry in chosen], live)
    dropped = any((new < 0).any() for new in ordinals)
    if not dropped and len(chosen) < 2 and len(segments) < 2:
        return None
    by_catalogue = {entry.id: new for entry, new in zip(chosen, ordinals, strict=True)}
    merged = _merged_blocks(loader, segments, by_catalogue, segment_ordinals)
    unit_count, catalogue = files.num_rows, catalogue_id(files.column("path"))
    staged = [
        stage_segment(store.storage, blocks, unit_count=unit_count, catalogue=catalogue)
        for blocks in merged
    ]
    made = _with_counts(staged, segments)
    stage = partial(stage_catalogue, store.storage, segments=made, definition=snapshot.definition)
    added = (stage(files),) if files.num_rows else ()
    if set(added) == set(chosen) and set(made) == set(segments):
        return None
    return Changes(
        operation="compact",
        table_version=snapshot.table_version,
        add_catalogues=added,
        add_segments=made,
        remove_segments=tuple(entry.path for entry in segments),
        remove_catalogues=tuple(entry.id for entry in chosen),
    )


def _merged_files(
    catalogues: Sequence[pa.Table], live: pa.Array | pa.ChunkedArray | None
) -> tuple[pa.Table, list[np.ndarray]]:
    """Join the live data files of several catalogues, each once.

    Returns:
        The files; and for each catalogue new ordinals by old, -1 of a file that is dropped.
    """
    everything = pa.concat_tables(catalogues).combine_chunks()
    paths = everything.column("path")
    kept = np.ones(len(paths), bool)
    if live is not None:
        kept = pc.is_in(paths, value_set=live).to_numpy()
    alive = everything.filter(pa.array(kept))
    # new ordinals are in the order in which paths first appear
    coded = pa.concat_arrays(
        [*alive.column("path").chunks, pa.array([], pa.string())]
    ).dictionary_encode()
    new_ordinals = coded.indices.to_numpy().astype(np.int64)
    new = np.full(len(paths), -1, np.int64)
    new[kept] = new_ordinals
    _, firsts = np.unique(new_ordinals, return_index=True)
    bounds = np.cumsum([table.num_rows for table in catalogues])[:-1]
    return alive.take(pa.array(firsts)), np.split(new, bounds)


def _merged_blocks(
    loader: SegmentLoader,
    segments: Sequence[SegmentEntry],
    ordinals: Mapping[str, np.ndarray],
    max_ordinals: int,
) -> Iterator[Blocks]:
    """Yield the blocks of segments merged, with the new ordinals of their catalogues."""
    opened = [loader.segment(entry) for entry in segments]
    # a column that was promoted has keys of both physical types, which no segment mixes
    for physical in ("int64", "bytes"):
        chains = _chains([segment for segment in opened if segment.physical == physical])
        yield from merge_streams(
            [_blocks(loader, chain) for chain in chains],
            [ordinals[chain[0].entry.catalogue] for chain in chains],
            max_ordinals=max_ordinals,
        )


def _chains(opened: Sequence[OpenedSegment]) -> list[list[OpenedSegment]]:
    """Return segments that follow each other as few lists, each of one catalogue and text code."""
    chains: list[list[OpenedSegment]] = []
    ends: dict[tuple[object, ...], list[int]] = {}
    for segment in sorted(opened, key=lambda segment: segment.entry.key_min):
        footer = segment.footer
        mine = ends.setdefault((segment.entry.catalogue, footer.text, footer.bytewise), [])
        for position, at in enumerate(mine):
            if _follows(chains[at][-1], segment):
                chains[at].append(segment)
                mine.append(mine.pop(position))
                break
        else:
            mine.append(len(chains))
            chains.append([segment])
    return chains


def _follows(before: OpenedSegment, segment: OpenedSegment) -> bool:
    first, text = segment.firsts[0], segment.footer.text
    if text is not None and before.footer.max_key >= first:  # type: ignore[operator]
        return False
    return before.entry.key_max < segment.entry.key_min  # type: ignore[operator]


def _blocks(loader: SegmentLoader, chain: Sequence[OpenedSegment]) -> Iterator[Blocks]:
    for segment, following in itertools.zip_longest(chain, chain[1:]):
        entry = segment.entry
        for number in range(len(segment.firsts)):
            blocks = loader.row_group(segment, number)
            blocks = replace(blocks, bounds=(entry.key_min, entry.key_max))
            if number + 1 == len(segment.firsts) and following is not None:
                blocks = _closed(blocks, following)
            yield blocks


def _closed(blocks: Blocks, following: OpenedSegment) -> Blocks:
    """Return blocks that end behind their last key, instead of reaching up to the next segment.

    In between may lie the keys of segments in another chain.
    """
    if blocks.text is None:
        last, end = blocks.bounds[1], following.entry.key_min
    else:
        last, end = blocks.max_key, following.firsts[0]
    behind = successor(last)
    if not blocks.keys[-1].as_py() < behind < end:  # type: ignore[operator]
        return blocks
    return replace(
        blocks,
        keys=pa.concat_arrays([blocks.keys, pa.array([behind], blocks.keys.type)]),
        offsets=np.append(blocks.offsets, blocks.offsets[-1]),
    )


def _with_counts(
    made: Sequence[SegmentEntry], merged: Sequence[SegmentEntry]
) -> tuple[SegmentEntry, ...]:
    """Share out the merged segments' keys and pairs, which are upper bounds, by blocks."""
    keys, pairs = sum(e.keys for e in merged), sum(e.pairs for e in merged)
    ends = np.cumsum([entry.blocks for entry in made])
    shares = [
        np.diff([total * int(end) // int(ends[-1]) for end in ends], prepend=0).tolist()
        for total in (keys, pairs)
        if len(made)
    ]
    return tuple(
        replace(entry, keys=shares[0][at], pairs=shares[1][at]) for at, entry in enumerate(made)
    )
