"""Merge segments into fewer, without reading the table."""

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
from lakesieve.errors import ErrorKind, InvalidInputError, corrupt
from lakesieve.format import catalogue_id
from lakesieve.sieve import KnownKeys, blocks_of_pairs, merge_streams, successor
from lakesieve.store.cache import BlockCache
from lakesieve.store.known_keys import known_keys
from lakesieve.store.reader import key_array, segment_points
from lakesieve.store.segment_loader import SegmentLoader
from lakesieve.store.snapshot import Changes
from lakesieve.store.staging import stage_catalogue, stage_segment

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lakesieve.format import IndexDefinition, SegmentEntry
    from lakesieve.sieve import Blocks
    from lakesieve.store.index_store import IndexStore
    from lakesieve.store.segment_loader import OpenedSegment
    from lakesieve.store.snapshot import Snapshot

SEGMENT_ORDINALS = 2_000_000

# pairs of keys and units from which blocks are built anew; with more, blocks are merged
_LISTED_PAIRS = 1 << 22

# Weight of the number of segments against the bytes of a merge. With 5, a byte is rewritten least
# often over a million refreshes (docs/scale.md). A smaller weight merges the newest segments too
# often, a larger one the largest segments.
_FEWER = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionPolicy:
    """When to merge deltas.

    A *delta* is a catalogue with its segments, as one refresh adds it.

    Args:
        deltas: Merge if more than this many deltas follow the first catalogue. 0 merges at every
            refresh.
    """

    deltas: int = int(COMPACTION)

    @classmethod
    def parse(cls, text: str, *, merges_on_read: bool = True) -> Self:
        """Parse the policy that is stored with an index.

        Args:
            text: The highest number of deltas, or ``auto``.
            merges_on_read: Whether the table merges changes on read. For ``auto``: if the table
                copies on write, its index is rewritten at every refresh, too.
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
    """Return the ids of the catalogues to merge now, or none if a merge is not worth its cost."""
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
    # the price of merging the newest 2, 3, ... catalogues: merging all of them each time would
    # rewrite the large ones for every few small ones
    prices = [total / number**_FEWER for number, total in enumerate(totals) if number]
    merged = 2 + prices.index(min(prices))
    return tuple(reversed(newest_first[:merged]))


def compaction_changes(
    store: IndexStore,
    snapshot: Snapshot,
    *,
    catalogues: Sequence[str] | None = None,
    live: pa.Array | pa.ChunkedArray | None = None,
    segment_ordinals: int = SEGMENT_ORDINALS,
) -> Changes | None:
    """Merge catalogues with all their segments into one, and stage the result.

    Neither the table nor its data files are read. Memory is bounded: one segment of the result, and
    the row groups of the segments that overlap at one key.

    ``catalogues`` are the ids to merge, by default all. ``live`` are the data files of all kept
    table versions; other files are dropped. A merged segment holds about ``segment_ordinals``
    ordinals.

    Returns:
        The changes to commit, or ``None`` if a merge would gain nothing.
    """
    names = {entry.id for entry in snapshot.catalogues} if catalogues is None else set(catalogues)
    chosen = [entry for entry in snapshot.catalogues if entry.id in names]
    if not chosen:
        return None
    segments = [entry for entry in snapshot.segments if entry.catalogue in names]
    # every part is read once, so a cache would not help
    loader = SegmentLoader(store.storage, snapshot, BlockCache(0))
    files, numbers = _merged_files([loader.catalogue(entry) for entry in chosen], live)
    dropped = any((new < 0).any() for new in numbers)
    if not dropped and len(chosen) < 2 and len(segments) < 2:
        return None
    unit = snapshot.definition.unit
    firsts = unit.first_ordinals(files.column("records").to_numpy())
    by_catalogue = {
        entry.id: _new_ordinals(new, loader.first_ordinals(entry), firsts)
        for entry, new in zip(chosen, numbers, strict=True)
    }
    merged = _merged_blocks(loader, snapshot.definition, segments, by_catalogue, segment_ordinals)
    unit_count, catalogue = int(firsts[-1]), catalogue_id(files.column("path"))
    staged = [
        stage_segment(store.storage, blocks, unit_count=unit_count, catalogue=catalogue)
        for blocks in merged
    ]
    entries = _with_counts(staged, segments)
    stage = partial(
        stage_catalogue, store.storage, segments=entries, definition=snapshot.definition
    )
    added = (stage(files),) if files.num_rows else ()
    if set(added) == set(chosen) and set(entries) == set(segments):
        return None
    return Changes(
        operation="compact",
        table_version=snapshot.table_version,
        add_catalogues=added,
        add_segments=entries,
        remove_segments=tuple(entry.path for entry in segments),
        remove_catalogues=tuple(entry.id for entry in chosen),
    )


def _merged_files(
    catalogues: Sequence[pa.Table], live: pa.Array | pa.ChunkedArray | None
) -> tuple[pa.Table, list[np.ndarray]]:
    """Join the live data files of several catalogues, each file once.

    Returns:
        The files; and, for each catalogue, the new number of each file, -1 for dropped files.
    """
    everything = pa.concat_tables(catalogues).combine_chunks()
    paths = everything.column("path")
    is_live = np.ones(len(paths), bool)
    if live is not None:
        is_live = pc.is_in(paths, value_set=live).to_numpy()
    alive = everything.filter(pa.array(is_live))
    # files get new numbers in the order in which their paths first appear
    coded = pa.concat_arrays(
        [*alive.column("path").chunks, pa.array([], pa.string())]
    ).dictionary_encode()
    new_numbers = coded.indices.to_numpy().astype(np.int64)
    new = np.full(len(paths), -1, np.int64)
    new[is_live] = new_numbers
    _, firsts = np.unique(new_numbers, return_index=True)
    bounds = np.cumsum([table.num_rows for table in catalogues])[:-1]
    return alive.take(pa.array(firsts)), np.split(new, bounds)


def _new_ordinals(files: np.ndarray, before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Return the new ordinal by old ordinal, -1 for those of dropped data files.

    Args:
        files: The new number of each data file of a catalogue, -1 for a dropped file.
        before: The first old ordinal of each of these files, and the end of the last.
        after: The first new ordinal by new number.
    """
    units = np.diff(before)
    is_kept = files >= 0
    # a data file never changes, so all catalogues must agree on its rows
    if not np.array_equal(units[is_kept], np.diff(after)[files[is_kept]]):
        raise corrupt("files/", "two catalogues disagree on the rows of a data file")
    steps = np.where(is_kept, after[files] - before[:-1], 0)
    moved: np.ndarray = np.arange(before[-1]) + np.repeat(steps, units)
    moved[np.repeat(~is_kept, units)] = -1
    return moved


def _merged_blocks(
    loader: SegmentLoader,
    definition: IndexDefinition,
    segments: Sequence[SegmentEntry],
    ordinals: Mapping[str, np.ndarray],
    max_ordinals: int,
) -> Iterator[Blocks]:
    """Yield the merged blocks of segments, with the new ordinals of their catalogues."""
    opened = [loader.segment(entry) for entry in segments]
    # a promoted column has keys of both physical types, and a segment holds only one of them
    for physical in ("int64", "bytes"):
        mine = [segment for segment in opened if segment.physical == physical]
        pairs = _listed_pairs(loader, mine, ordinals)
        if pairs is not None:
            yield from blocks_of_pairs(
                *pairs,
                max_pairs=max_ordinals,
                absent_hits=definition.absent_hits,
                whole=definition.has_whole_keys,
            )
            continue
        known = KnownKeys.joined(
            known_keys(loader, segment.entry, ordinals[segment.entry.catalogue] >= 0)
            for segment in mine
        )
        chains = _chains(mine)
        merged = merge_streams(
            [_blocks(loader, chain) for chain in chains],
            [ordinals[chain[0].entry.catalogue] for chain in chains],
            max_ordinals=max_ordinals,
            whole=definition.has_whole_keys,
        )
        for blocks in merged:
            low, high = blocks.bounds
            # the bound of byte strings is above all keys already
            end = high if isinstance(high, bytes) else high + 1
            yield replace(blocks, ends=known.within(low, end))


def _listed_pairs(
    loader: SegmentLoader, opened: Sequence[OpenedSegment], ordinals: Mapping[str, np.ndarray]
) -> tuple[pa.Array, np.ndarray] | None:
    """Return the pairs of keys and new ordinals of exact segments that list all of their keys.

    Blocks that are built of these pairs are exact again. The result is ``None`` for other segments,
    and for very many pairs.
    """
    keys: list[pa.Array] = []
    units = [np.zeros(0, np.int32)]
    left = _LISTED_PAIRS
    for segment in opened:
        ends, new = segment.footer.ends, ordinals[segment.entry.catalogue]
        if ends is None or not (ends.is_exact and ends.is_complete):
            return None
        left -= len(ends.first) * len(new)
        if left < 0:
            return None
        listed = key_array(segment.entry, ends.first)
        points = segment_points(loader, segment.entry, listed)
        for at, offsets, old in points:
            moved = new[old]
            keys.append(listed.take(pa.array(np.repeat(at, np.diff(offsets))[moved >= 0])))
            units.append(moved[moved >= 0].astype(np.int32))
    return (pa.concat_arrays(keys), np.concatenate(units)) if keys else None


def _chains(opened: Sequence[OpenedSegment]) -> list[list[OpenedSegment]]:
    """Sort segments into few chains of consecutive segments with one catalogue and text code."""
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
    """End blocks after their last key, instead of at the next segment.

    Keys of another chain's segments may lie between the two ends.
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
    staged: Sequence[SegmentEntry], merged: Sequence[SegmentEntry]
) -> tuple[SegmentEntry, ...]:
    """Distribute the key and pair counts of merged segments over the new ones, by their blocks.

    These counts are upper bounds.
    """
    keys, pairs = sum(e.keys for e in merged), sum(e.pairs for e in merged)
    ends = np.cumsum([entry.blocks for entry in staged])
    shares = [
        np.diff([total * int(end) // int(ends[-1]) for end in ends], prepend=0).tolist()
        for total in (keys, pairs)
        if len(staged)
    ]
    return tuple(
        replace(entry, keys=shares[0][at], pairs=shares[1][at]) for at, entry in enumerate(staged)
    )
