"""Translate a predicate over columns into a predicate over the keys of indexes.

The keys of an index on one column are the codes of this column. The keys of an index on several
columns are bytes, see :mod:`lakesieve.sieve.composite`. Conditions on its leading columns become
intervals of these keys, if all but the last of these columns have few values.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lakesieve.predicate import (
    AllOf,
    AlwaysTrue,
    AnyOf,
    ColumnRanges,
    ElementRanges,
    EntryRows,
    KeysWith,
    Ranges,
    all_of,
    any_of,
)
from lakesieve.sieve import VALUES, component_code, component_part

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lakesieve.format import IndexKey, KeyColumn
    from lakesieve.index.opened import OpenedIndex
    from lakesieve.predicate import RowFilter

MAX_RANGES = 10_000
"""Largest number of intervals of composite keys that one look-up may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryKey:
    """How the keys of an index on the entries of a map begin for one key of the map.

    Args:
        field_id: The field of the map's keys, the first key column of the index.
        component: The component of the map's key, see :mod:`lakesieve.sieve.composite`.
    """

    field_id: int
    component: bytes


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class UsableIndex:
    """An index, and those of its key columns on which conditions can be used.

    Args:
        columns: Its leading key columns that the table still has with the same key kind.
    """

    index: OpenedIndex
    columns: tuple[KeyColumn, ...]

    @property
    def is_composite(self) -> bool:
        """True if the keys consist of several columns, even if fewer of them are usable now."""
        return len(self.index.definition.columns) > 1

    @property
    def key_of_many(self) -> IndexKey | None:
        """The key of which a row has zero, one or many, if any."""
        return self.index.definition.key_of_many


def on_keys(
    rows: RowFilter,
    indexes: Sequence[UsableIndex],
    *,
    entries: Mapping[int, EntryKey] | None = None,
    most_ranges: int = MAX_RANGES,
) -> RowFilter:
    """Translate conditions on columns into conditions on the keys of some indexes.

    The values of several columns multiply to at most ``most_ranges`` intervals for each index. If
    there would be more, fewer columns are used. ``entries`` are the conditions' columns that are
    the value of an entry of a map, by their field ids.

    Returns:
        The same rows or more. Leaves refer to indexes by their position in ``indexes``.
    """
    many = (one.key_of_many for one in indexes)
    maps = {
        key.columns[0].field_id: key.columns
        for key in many
        if key is not None and len(key.columns) > 1
    }
    return _on_keys(_of_entries(rows, maps, entries or {}), indexes, {}, most_ranges)


def _of_entries(
    rows: RowFilter, maps: Mapping[int, Sequence[KeyColumn]], entries: Mapping[int, EntryKey]
) -> RowFilter:
    """Turn conditions on the keys and the values of maps into conditions on composite keys.

    ``maps`` are the keys and values of indexed maps as columns, by the field ids of their keys.

    A row without an entry has the value null, and so has a row whose entry is null. The index does
    not know the former, so a condition that null meets is true of every row.
    """
    match rows:
        case ColumnRanges() if rows.field_id in entries:
            entry = entries[rows.field_id]
            if rows.ranges.nulls or entry.field_id not in maps:
                return AlwaysTrue()
            stem, (_, value) = entry.component, maps[entry.field_id]
            keys = (
                (stem + low, stem + high)
                for low, high in component_intervals(value.key_kind, rows.ranges)
            )
            return ElementRanges(field_id=entry.field_id, ranges=Ranges.of(keys))
        case ElementRanges() if rows.field_id in maps and not _is_any_value(rows.ranges):
            kind = maps[rows.field_id][0].key_kind
            return replace(rows, ranges=Ranges.of(component_intervals(kind, rows.ranges)))
        case EntryRows():
            columns = maps.get(rows.field_id)
            return AlwaysTrue() if columns is None else _of_one_entry(rows.entry, columns)
        case AllOf():
            return all_of([_of_entries(arg, maps, entries) for arg in rows.args])
        case AnyOf():
            return any_of([_of_entries(arg, maps, entries) for arg in rows.args])
        case _:
            return rows


def _of_one_entry(entry: RowFilter, columns: Sequence[KeyColumn]) -> RowFilter:
    """Return a filter on composite keys that accepts every row with an entry of a map.

    ``entry`` is the filter on the key and the value of one entry. Entries with any key are all over
    the index, so a filter on values alone accepts every row.
    """
    parts = entry.args if isinstance(entry, AllOf) else (entry,)
    by_field = {part.field_id: part.ranges for part in parts if isinstance(part, ColumnRanges)}
    filters = [
        any_of([_of_one_entry(arg, columns) for arg in part.args])
        for part in parts
        if isinstance(part, AnyOf)
    ]
    key = columns[0].field_id
    # a row without entries counts as a null key, and the index does not know such rows
    if key in by_field and not by_field[key].nulls:
        keys = _composite(_components(columns), by_field, {}, MAX_RANGES)
        if keys is not None:
            filters.append(ElementRanges(field_id=key, ranges=keys))
    return all_of(filters)


def _on_keys(
    rows: RowFilter, indexes: Sequence[UsableIndex], ranges_above: Mapping[int, Ranges], room: int
) -> RowFilter:
    """Translate the part of a predicate below an AND.

    ``known`` are the ranges from the rest of that AND, and ``room`` the number of intervals that
    are allowed.
    """
    match rows:
        case ColumnRanges():
            return _leaves(indexes, {rows.field_id: rows.ranges}, ranges_above, room)
        case ElementRanges() | KeysWith():
            return _of_many(indexes, rows, ranges_above, room)
        case AllOf():
            columns = [arg for arg in rows.args if isinstance(arg, ColumnRanges)]
            by_field = {arg.field_id: arg.ranges for arg in columns}
            rest = [arg for arg in rows.args if not isinstance(arg, ColumnRanges)]
            below = {**ranges_above, **by_field}
            share = room // max(len(rest), 1)
            filters = [_on_keys(arg, indexes, below, share) for arg in rest]
            return all_of([_leaves(indexes, by_field, ranges_above, room), *filters])
        case AnyOf():
            share = room // max(len(rows.args), 1)
            return any_of([_on_keys(arg, indexes, ranges_above, share) for arg in rows.args])
        case _:
            return rows


def _of_many(
    indexes: Sequence[UsableIndex],
    rows: ElementRanges | KeysWith,
    known: Mapping[int, Ranges],
    room: int,
) -> RowFilter:
    """Return a filter on the keys of each index that has the elements, entries or words as keys.

    All keys of a row have the values of its other key columns, so conditions on these restrict the
    keys as well.
    """
    leaves: list[RowFilter] = []
    for number, usable in enumerate(indexes):
        many = usable.key_of_many
        if many is None or many.columns[0].field_id != rows.field_id:
            continue
        if len(usable.index.definition.keys) == 1:
            leaves.append(replace(rows, field_id=number))
            continue
        components = _components(usable.columns, many)
        if isinstance(rows, KeysWith):
            every = _composite(components, {rows.field_id: Ranges.everything()}, known, room)
            if every is not None or usable.columns[0] in many.columns:
                part = component_part(rows.part)
                leaves.append(KeysWith(field_id=number, part=part, within=every))
        elif not rows.ranges.nulls:
            ranges = _composite(components, {rows.field_id: rows.ranges}, known, room)
            if ranges is not None:
                leaves.append(ElementRanges(field_id=number, ranges=ranges))
    return all_of(leaves)


def _leaves(
    indexes: Sequence[UsableIndex],
    by_field: Mapping[int, Ranges],
    known: Mapping[int, Ranges],
    room: int,
) -> RowFilter:
    """Return a filter on the keys of each index, from the conditions on its columns."""
    leaves: list[RowFilter] = []
    for number, usable in enumerate(indexes):
        if usable.key_of_many is not None:
            continue
        if usable.is_composite:
            ranges = _composite(_components(usable.columns), by_field, known, room)
        else:
            ranges = by_field.get(usable.columns[0].field_id)
        if ranges is not None:
            leaves.append(ColumnRanges(field_id=number, ranges=ranges))
    return all_of(leaves)


_Component = tuple[int, str | None]
"""A component of composite keys: the field id, and the key kind of its values. Entries of a map
have no key kind: their ranges are components already."""


def _components(columns: Sequence[KeyColumn], many: IndexKey | None = None) -> list[_Component]:
    """Return the components of composite keys. ``many`` is the key of which a row has many."""
    entries = many.columns if many is not None and len(many.columns) > 1 else ()
    return [
        (column.field_id, None if column in entries else column.key_kind)
        for column in columns
        if column not in entries[1:]
    ]


def _composite(
    components: Sequence[_Component],
    by_field: Mapping[int, Ranges],
    known: Mapping[int, Ranges],
    room: int,
) -> Ranges | None:
    """Return the composite keys that the conditions allow, or ``None`` if only ``known`` does."""
    by_column = {**known, **by_field}
    leading = list(itertools.takewhile(lambda component: component[0] in by_column, components))
    if not leading or _is_any_value(by_column[leading[0][0]]):
        return None
    # values that the query lists are all taken, however many there are
    room = max(room, sum(_size(ranges) for ranges in by_field.values()))
    stems, adds = [b""], False
    joined_intervals: list[tuple[bytes, bytes]] = []
    for at, (field, kind) in enumerate(leading, 1):
        ranges = by_column[field]
        if len(stems) * _size(ranges) > room:
            break
        intervals = _stored(ranges) if kind is None else component_intervals(kind, ranges)
        joined_intervals = [(stem + low, stem + high) for stem in stems for low, high in intervals]
        adds = adds or field in by_field
        points = None
        if at < len(leading) and kind is not None:
            points = _points(kind, ranges, room // len(stems))
        if not points:
            break
        stems = [stem + point for stem in stems for point in points]
    return Ranges.of(joined_intervals) if adds else None


def _stored(ranges: Ranges) -> list[tuple[bytes, bytes]]:
    """Return the intervals of ranges of components."""
    intervals = []
    for low, high in ranges.intervals:
        assert isinstance(low, bytes)
        assert isinstance(high, bytes)
        intervals.append((low, high))
    return intervals


def _is_any_value(ranges: Ranges) -> bool:
    """Return whether the only condition is IS NOT NULL, as for the keys of joins."""
    return ranges.intervals == ((None, None),)


def _size(ranges: Ranges) -> int:
    return len(ranges.intervals) + ranges.nulls


def component_intervals(kind: str, ranges: Ranges) -> list[tuple[bytes, bytes]]:
    """Return the intervals of the components of a column whose values lie in ranges, ascending."""
    below, above = VALUES
    nulls = [(component_code(kind, None), below)] if ranges.nulls else []
    return nulls + [
        (
            below if low is None else component_code(kind, low),
            above if high is None else component_code(kind, high),
        )
        for low, high in ranges.intervals
    ]


def _points(kind: str, ranges: Ranges, most: int) -> list[bytes] | None:
    """Return the components one by one, or ``None`` if there are too many or infinitely many."""
    points = [component_code(kind, None)] if ranges.nulls else []
    for low, high in ranges.intervals:
        codes: Sequence[int | bytes]
        if isinstance(low, int) and isinstance(high, int):
            codes = range(low, min(high, low + most + 1))
        elif isinstance(low, bytes) and isinstance(high, bytes) and high == _filled(low, len(high)):
            # the next byte string after another one is the same with a zero byte added
            codes = [_filled(low, length) for length in range(len(low), len(high))]
        else:
            return None
        if len(codes) > most - len(points):
            return None
        components = (component_code(kind, code) for code in codes)
        # no value is beyond all codes
        points += [component for component in components if component not in VALUES]
    return points


def _filled(text: bytes, length: int) -> bytes:
    return text.ljust(length, b"\x00")
