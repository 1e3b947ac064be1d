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

from lakesieve.errors import ErrorKind, InvalidInputError
from lakesieve.format import catalogue_id, decode_footer, decode_row_group
from lakesieve.sieve import merge_streams
from lakesieve.store.index_references import root_storage
from lakesieve.store.segment_loader import read_catalogue
from lakesieve.store.snapshot import Changes
from lakesieve.store.staging import stage_catalogue, stage_segment

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lakesieve.format import CatalogueEntry, SegmentEntry, SegmentFooter
    from lakesieve.sieve import Blocks
    from lakesieve.storage import Storage
    from lakesieve.store.index_store import IndexStore
    from lakesieve.store.snapshot import Snapshot

COMPACTION = "16"
"""The policy of an index that was given none."""

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
    """Ids of the catalogues that should be merged now; none where it is not worth it."""
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

    Args:
        store: The index.
        snapshot: Its state.
        catalogues: Ids of those to merge; by default all.
        live: Paths of the data files that any kept table version holds; the others are dropped.
            By default all are kept.
        segment_ordinals: About how many ordinals a merged segment holds.

    Returns:
        The changes to commit, or ``None`` when there is nothing to gain.
    """
    names = {entry.id for entry in snapshot.catalogues} if catalogues is None else set(catalogues)
    chosen = [entry for entry in snapshot.catalogues if entry.id in names]
    if not chosen:
        return None
    segments = [entry for entry in snapshot.segments if entry.catalogue in names]
    files, ordinals = _merged_files(store, snapshot, chosen, live)
    dropped = any(int((new < 0).sum()) for new in ordinals.values())
    if not dropped and len(chosen) < 2 and len(segments) < 2:
        return None
    made = _merged_segments(
        store,
        snapshot,
        segments,
        ordinals=ordinals,
        unit_count=files.num_rows,
        catalogue=catalogue_id(files.column("path")),
        segment_ordinals=segment_ordinals,
    )
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
    store: IndexStore,
    snapshot: Snapshot,
    chosen: Sequence[CatalogueEntry],
    live: pa.Array | pa.ChunkedArray | None,
) -> tuple[pa.Table, dict[str, np.ndarray]]:
    """The live data files of several catalogues, each once, and by catalogue new ordinals by old.

    An ordinal of -1 is a file that is dropped.
    """
    tables = []
    for entry in chosen:
        storage = root_storage(store.storage, snapshot.definition, entry.root)
        tables.append(read_catalogue(storage, entry))
    everything = pa.concat_tables(tables).combine_chunks()
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
    bounds = np.cumsum([table.num_rows for table in tables])[:-1]
    by_catalogue = np.split(new, bounds)
    by_id = {entry.id: numbers for entry, numbers in zip(chosen, by_catalogue, strict=True)}
    return alive.take(pa.array(firsts)), by_id


def _merged_segments(
    store: IndexStore,
    snapshot: Snapshot,
    segments: Sequence[SegmentEntry],
    *,
    ordinals: dict[str, np.ndarray],
    unit_count: int,
    catalogue: str,
    segment_ordinals: int,
) -> tuple[SegmentEntry, ...]:
    opened = []
    for entry in segments:
        storage = root_storage(store.storage, snapshot.definition, entry.root)
        start = entry.size - entry.footer_length
        data = storage.get_range(entry.path, start, entry.footer_length)
        opened.append((entry, decode_footer(data, entry), storage))
    made = []
    # a column that was promoted has keys of both physical types, which no segment mixes
    for physical in (int, bytes):
        chains = _chains(
            [segment for segment in opened if isinstance(segment[0].key_min, physical)]
        )
        merged = merge_streams(
            [_blocks(chain) for chain in chains],
            [ordinals[chain[0][0].catalogue] for chain in chains],
            max_ordinals=segment_ordinals,
        )
        made += [
            stage_segment(store.storage, blocks, unit_count=unit_count, catalogue=catalogue)
            for blocks in merged
        ]
    return _with_counts(made, segments)


_OpenSegment = tuple["SegmentEntry", "SegmentFooter", "Storage"]


def _chains(opened: Sequence[_OpenSegment]) -> list[list[_OpenSegment]]:
    """Segments of one catalogue and text code that follow each other, as few lists as possible."""
    chains: list[list[_OpenSegment]] = []
    ends: dict[tuple[object, ...], list[int]] = {}
    for segment in sorted(opened, key=lambda segment: segment[0].key_min):
        entry, footer, _ = segment
        mine = ends.setdefault((entry.catalogue, footer.text, footer.bytewise), [])
        for position, at in enumerate(mine):
            if _follows(chains[at][-1], segment):
                chains[at].append(segment)
                mine.append(mine.pop(position))
                break
        else:
            mine.append(len(chains))
            chains.append([segment])
    return chains


def _follows(before: _OpenSegment, segment: _OpenSegment) -> bool:
    if segment[1].text is not None and before[1].max_key >= segment[1].groups[0].first_key:  # type: ignore[operator]
        return False
    return before[0].key_max < segment[0].key_min  # type: ignore[operator]


def _blocks(chain: Sequence[_OpenSegment]) -> Iterator[Blocks]:
    for at, (entry, footer, storage) in enumerate(chain):
        for number, group in enumerate(footer.groups):
            data = storage.get_range(footer.path, group.start, group.length)
            blocks = decode_row_group(footer, number, data)
            blocks = replace(blocks, bounds=(entry.key_min, entry.key_max))
            if number + 1 == len(footer.groups) and at + 1 < len(chain):
                blocks = _closed(blocks, chain[at + 1])
            yield blocks


def _closed(blocks: Blocks, following: _OpenSegment) -> Blocks:
    """Blocks that end behind their last key, instead of reaching up to the next segment.

    In between may lie the keys of segments in another chain.
    """
    if blocks.text is None:
        last, end = blocks.bounds[1], following[0].key_min
    else:
        last, end = blocks.max_key, following[1].groups[0].first_key
    behind = last + b"\0" if isinstance(last, bytes) else last + 1
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
