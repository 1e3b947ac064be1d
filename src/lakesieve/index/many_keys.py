"""Look up many keys at once: which files may hold them, and which a table version lacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.index.judged_files import KeepLeaf, KeepTree
from lakesieve.index.key_results import KeyPresence
from lakesieve.index.row_ranges import Candidates
from lakesieve.sieve import encode_composite, encode_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from lakesieve.index.given_keys import GivenKeys
    from lakesieve.index.opened import OpenedIndex
    from lakesieve.sieve import KeyType
    from lakesieve.tables import Column, TableReader, TableVersion

    KeyReader = Callable[["KeysToFind"], Iterable[Sequence[pa.Array]]]

# rows of data files that are compared at once
_COMPARED = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KeyCodes:
    """The distinct codes of many keys.

    Args:
        codes: Distinct and ascending. For a single column, null is the last.
        rows: For each code, the position of one given key with it.
        places: For each given key, the position of its code.
    """

    codes: pa.Array
    rows: np.ndarray
    places: np.ndarray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KeysToFind:
    """Keys to look for in the rows of some files of a table."""

    table: TableReader
    version: TableVersion
    plan: KeepTree
    columns: Sequence[Column]
    keys: Sequence[pa.ChunkedArray]


def sorted_codes(
    key_types: Sequence[KeyType],
    columns: Sequence[pa.Array | pa.ChunkedArray],
    *,
    is_prefix: bool,
) -> KeyCodes:
    """Return the distinct codes of keys in the order of the index."""
    encode = encode_composite if is_prefix else encode_rows
    codes = encode(key_types, columns)
    order = pc.sort_indices(codes)
    ordered = codes.take(order)
    values = len(ordered) - ordered.null_count
    fresh = np.ones(len(ordered), bool)
    fresh[values + 1 :] = False
    if values:
        steps = pc.not_equal(ordered[1:values], ordered[: values - 1])
        fresh[1:values] = steps.to_numpy(zero_copy_only=False)
    at = order.to_numpy().astype(np.int64)
    places = np.empty(len(at), np.int64)
    places[at] = np.cumsum(fresh) - 1
    return KeyCodes(
        codes=ordered.take(pa.array(np.flatnonzero(fresh))), rows=at[fresh], places=places
    )


class KeyMatches:
    """What an index says of many keys, from one look-up.

    Args:
        index: The index.
        codes: Distinct codes of the keys, ascending. The last may be null.
        is_prefix: Whether the index has more columns than the keys.
    """

    def __init__(self, index: OpenedIndex, codes: pa.Array, *, is_prefix: bool) -> None:
        self._index = index
        self._null_at = len(codes) - 1 if codes.null_count else None
        self._units = index.units_of_keys(codes.drop_null(), is_prefix=is_prefix)

    @property
    def has_null(self) -> bool:
        """True if null is one of the keys."""
        return self._null_at is not None

    def units(self) -> np.ndarray:
        """Return numbers of the units that may hold a key, null left out."""
        return self._index.unit_pairs(self._units)[1]

    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the covered files that may hold each key, as :meth:`OpenedIndex.pairs` does."""
        which, numbers = self._index.pairs(self._units)
        if self._null_at is None:
            return which, numbers
        files = np.flatnonzero(self._index.flagged("has_null"))
        nulls = np.full(len(files), self._null_at)
        return np.concatenate([which, nulls]), np.concatenate([numbers, files])

    def plan(self) -> KeepTree:
        """Return a plan of the files and rows that may hold one of the keys."""
        matches = self._index.candidates(self._units)
        if self._null_at is not None:
            nulls = Candidates(keep=self._index.flagged("has_null"))
            matches = Candidates.joined([matches, nulls], every=False)
        return keep_candidates(self._index, matches)


def keep_files_of_keys(index: OpenedIndex, keys: GivenKeys) -> KeepTree:
    """Return a plan of the files and rows that may hold one of the keys."""
    codes = _codes_of(keys, keys.values).codes
    return KeyMatches(index, codes, is_prefix=keys.is_prefix).plan()


def keep_some_files(index: OpenedIndex, numbers: np.ndarray) -> KeepTree:
    """Return a plan that keeps some of the files that an index covers, and all uncovered files."""
    return keep_candidates(index, some_files(index, numbers))


def some_files(index: OpenedIndex, numbers: np.ndarray) -> Candidates:
    """Return all rows of some files that an index covers."""
    keep = np.zeros(len(index.paths()), bool)
    keep[numbers] = True
    return Candidates(keep=keep)


def keep_candidates(index: OpenedIndex, candidates: Candidates) -> KeepTree:
    """Return a plan that keeps an answer of an index, and all uncovered files."""
    return KeepTree(
        indexes=(index,),
        keep=KeepLeaf.of_index(0, candidates),
        used=(index.definition.name,),
        reasons=(),
    )


def contained(
    keys: GivenKeys,
    index: OpenedIndex,
    *,
    table: TableReader,
    version: TableVersion,
    reader: KeyReader | None,
) -> KeyPresence:
    """Find which of many keys a version of a table lacks.

    ``reader`` reads the key columns of rows, with row-level deletes applied. It must return at
    least all rows that have one of the keys. Without a reader, the result is what the index says.
    """
    codes = _codes_of(keys, keys.values)
    live = _Live(table.live_files(version), index.paths())
    matches = KeyMatches(index, codes.codes, is_prefix=keys.is_prefix)
    which, numbers = matches.pairs()
    alive = live.rows[numbers] >= 0
    which, numbers = which[alive], numbers[alive]
    possible = np.zeros(len(codes.codes), bool)
    possible[which] = True
    if reader is not None:
        to_check = np.ones_like(possible) if len(live.uncovered) else possible
        some = pa.array(codes.rows[to_check])
        to_find = KeysToFind(
            table=table,
            version=version,
            plan=matches.plan(),
            columns=keys.columns,
            keys=[values.take(some) for values in keys.values],
        )
        possible = _held(keys, codes, to_check, reader(to_find))
        is_present = possible[which]
        which, numbers = which[is_present], numbers[is_present]
    is_known = reader is not None or not len(live.uncovered)
    absent = ~possible if is_known else np.zeros_like(possible)
    names = [".".join(column.path) for column in keys.columns]
    return KeyPresence(
        keys=pa.table(keys.values, names=names),
        absent=pa.array(absent[codes.places]),
        pairs=_pairs(codes, which, live.rows[numbers], live.shown),
        uncovered=tuple(live.uncovered.to_pylist()),
        confirmed=reader is not None,
        files=len(live.shown),
        version=version.id,
        table=table.name,
        index=index.definition.name,
        commit=index.snapshot.number,
    )


class _Live:
    """The data files of a version, matched with the files that an index covers."""

    def __init__(self, files: pa.Table, covered: pa.ChunkedArray) -> None:
        self.shown = files.column("location" if "location" in files.column_names else "path")
        # a file that several deltas cover has the number of the first one
        numbers = pc.index_in(files.column("path"), value_set=covered)
        is_covered = numbers.is_valid().to_numpy()
        self.uncovered = self.shown.filter(pa.array(~is_covered))
        # the row of each covered file, or -1 for a file that is not live
        self.rows = np.full(len(covered), -1)
        self.rows[numbers.drop_null().to_numpy()] = np.flatnonzero(is_covered)


def _pairs(
    codes: KeyCodes, which: np.ndarray, files: np.ndarray, paths: pa.ChunkedArray
) -> pa.Table:
    """Return each given key, by position, with each of its files."""
    order = np.argsort(which, kind="stable")
    starts = np.searchsorted(which[order], np.arange(len(codes.codes) + 1))
    counts = np.diff(starts)[codes.places]
    key_numbers = np.repeat(np.arange(len(codes.places)), counts)
    # the files of each given key's code, one after the other
    within = np.arange(len(key_numbers)) - np.repeat(np.cumsum(counts) - counts, counts)
    at = np.repeat(starts[codes.places], counts) + within
    names = pa.DictionaryArray.from_arrays(pa.array(files[order][at], pa.int32()), _joined(paths))
    return pa.table({"key": pa.array(key_numbers, pa.int64()), "file": names})


def _joined(strings: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays([pa.array([], strings.type), *strings.chunks])


def _codes_of(keys: GivenKeys, values: Sequence[pa.ChunkedArray]) -> KeyCodes:
    return sorted_codes(keys.key_types, values, is_prefix=keys.is_prefix)


def _held(
    keys: GivenKeys,
    given: KeyCodes,
    sought: np.ndarray,
    batches: Iterable[Sequence[pa.Array]],
) -> np.ndarray:
    """Return which of the sought keys occur in the rows."""
    places = np.flatnonzero(sought)
    wanted = given.codes.take(pa.array(places))
    held = np.zeros(len(sought), bool)
    for columns in _gathered(batches):
        # a value that many rows share is searched only once
        codes = _codes_of(keys, columns).codes
        found = pc.index_in(wanted, value_set=codes) if len(codes) else None
        if found is not None:
            held[places[found.is_valid().to_numpy(zero_copy_only=False)]] = True
    return held


def _gathered(batches: Iterable[Sequence[pa.Array]]) -> Iterable[list[pa.ChunkedArray]]:
    waiting: list[Sequence[pa.Array]] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += len(batch[0])
        if rows >= _COMPARED:
            yield [pa.chunked_array(list(parts)) for parts in zip(*waiting, strict=True)]
            waiting, rows = [], 0
    if waiting:
        yield [pa.chunked_array(list(parts)) for parts in zip(*waiting, strict=True)]
