"""Tables of one column whose keys and life are drawn: indexed, refreshed, dropped and merged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st
from tests.kit.key_table import KeyTable
from tests.kit.strategies import key_columns

from lakesieve.index import OpenedIndex, column_types
from lakesieve.index.access import without_engine
from lakesieve.predicate import bind, exact_values
from lakesieve.predicate.parse import parse_sql
from lakesieve.sieve import KINDS, KeyType
from lakesieve.store import IndexStore
from lakesieve.tables import Column

if TYPE_CHECKING:
    from collections.abc import Collection

    from lakesieve.predicate import Ranges

INTEGERS = KeyType(kind="integer")


def table_of(key_type: KeyType, files: list[pa.Array], kind: str = "any") -> KeyTable:
    """Return a table without versions. ``kind`` is the type as a format prints it."""
    column = Column(
        path=("k",),
        field_id=1,
        type=kind,
        kind=key_type.kind,
        scale=key_type.scale,
        precision=key_type.precision,
    )
    by_path = {f"file:/t/{number}": values for number, values in enumerate(files)}
    return KeyTable(column=column, files=by_path, versions=[])


@st.composite
def few_keys(draw: st.DrawFn) -> tuple[KeyType, list[pa.Array]]:
    """Draw data files of a few values of any kind, which meet in several files."""
    column = draw(key_columns(draw(st.sampled_from(sorted(KINDS)))))
    values = column.values
    numbers = st.lists(st.integers(0, max(len(values) - 1, 0)), max_size=8 if len(values) else 0)
    files = draw(st.lists(numbers, min_size=1, max_size=6))
    return column.key_type, [values.take(pa.array(at, pa.int64())) for at in files]


@st.composite
def many_keys(draw: st.DrawFn) -> tuple[KeyType, list[pa.Array]]:
    """Draw data files with more keys than a segment keeps, dense or sparse, as numbers or texts."""
    spans = st.tuples(st.integers(0, 300), st.integers(1, 200), st.sampled_from([1, 1, 2, 77]))
    drawn = draw(st.lists(spans, min_size=1, max_size=5))
    files = [list(range(start, start + count * step, step)) for start, count, step in drawn]
    if draw(st.booleans()):
        return INTEGERS, [pa.array(keys, pa.int64()) for keys in files]
    end = draw(st.sampled_from(["", "x" * 60, "/a/b"]))
    texts = [pa.array([f"{key:06}{end}" for key in keys], pa.string()) for keys in files]
    return KeyType(kind="string"), texts


@dataclass(frozen=True, kw_only=True)
class DrawnLife:
    """An indexed table with a few versions.

    Args:
        table: The table.
        key_type: The type of its keys.
        uncovered: Paths of the data files that its index does not cover.
    """

    table: KeyTable
    key_type: KeyType
    uncovered: set[str]

    def compact(self, data: st.DataObject) -> None:
        """Expire some of the first versions, and compact the index."""
        first = data.draw(st.integers(0, len(self.table.versions) - 1))
        self.table.versions = self.table.versions[first:]
        self.table.index().compact()


def drawn_life(
    data: st.DataObject, *, budgets: tuple[str | None, ...] = (None,), always_refreshed: bool = True
) -> DrawnLife:
    """Draw a table that is indexed, appended to and perhaps refreshed, and then loses files."""
    key_type, files = data.draw(st.one_of(few_keys(), many_keys()))
    table = table_of(key_type, files)
    paths = list(table.files)
    first = data.draw(st.integers(1, len(paths)))
    table.versions = [paths[:first]]
    table.create(
        rows_per_block=data.draw(st.sampled_from([0, 0, 1, 3])),
        budget=data.draw(st.sampled_from(budgets)),
    )
    uncovered = set(paths[first:])
    if uncovered:
        table.versions.append(paths)
        if always_refreshed or data.draw(st.booleans()):
            table.refresh()
            uncovered = set()
    some = st.lists(st.sampled_from(paths), unique=True)
    table.versions += data.draw(st.lists(some, max_size=3))
    return DrawnLife(table=table, key_type=key_type, uncovered=uncovered)


def opened_with(table: KeyTable, complete: Collection[str]) -> tuple[OpenedIndex, dict[str, bytes]]:
    """Return the index of a table, and which of its files a scan returns as a whole.

    The files are bits by catalogue, as an engine tells them. A file in several catalogues counts in
    the first of them.
    """
    access = without_engine()
    store = IndexStore(access.index_storage(table, "k", None))
    opened = OpenedIndex(store, store.snapshot())
    live = {}
    left = set(complete)
    first = 0
    for name, files in opened.files():
        paths = opened.paths().slice(first, files).to_pylist()
        live[name] = np.packbits([path in left for path in paths], bitorder="little").tobytes()
        left -= set(paths)
        first += files
    return opened, live


def drawn_condition(data: st.DataObject, table: KeyTable, key_type: KeyType) -> str:
    """Draw a condition on the keys of a table: of a few integers or texts, or of null."""
    every = [value for values in table.files.values() for value in values.to_pylist()]
    held = sorted({value for value in every if isinstance(value, str | int) and value is not None})
    plain = [value for value in held if not isinstance(value, str) or value.isascii()]
    forms = ["k IS NOT NULL", "k IS NULL"]
    if plain and key_type.kind in {"integer", "string"}:
        some = [data.draw(st.sampled_from(plain)) for _ in range(2)]
        low, high = (repr(value) for value in sorted(some))
        forms += [f"k = {low}", f"k IN ({low}, {high})", f"k BETWEEN {low} AND {high}"]
        forms += [f"k >= {low}", f"k <> {high}", f"k = {low} OR k IS NULL"]
    return data.draw(st.sampled_from(forms))


def values_of(table: KeyTable, condition: str) -> Ranges:
    """Return the values that fulfil a condition on the keys."""
    types = column_types(table.columns(table.version()))
    known = exact_values(bind(parse_sql(condition), types, strict=True))
    assert known is not None
    return known[1]
