"""Ranges of rows: their intersection and union equal those of sets of rows."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lakesieve.index import ALL_ROWS, Candidates, RowRanges

FILES, ROWS = 3, 8

RANGES = st.lists(
    st.tuples(
        st.integers(0, FILES - 1), st.integers(0, ROWS - 1), st.integers(1, ROWS) | st.none()
    ).filter(lambda one: one[2] is None or one[1] < one[2]),
    max_size=6,
)
PARTS = st.lists(RANGES, min_size=1, max_size=4)


def ranges_of(drawn: list[tuple[int, int, int | None]]) -> RowRanges:
    whole = [(file, row, ALL_ROWS if end is None else end) for file, row, end in drawn]
    return RowRanges.of(*np.array(whole, np.int64).reshape(-1, 3).T)


def rows_of(ranges: RowRanges) -> set[tuple[int, int]]:
    """Return the rows up to the last row that is drawn, and check that ranges are in order."""
    assert (ranges.starts < ranges.ends).all()
    assert (ranges.starts[1:] >= ranges.ends[:-1]).all()
    found = set()
    for file, first, end in zip(ranges.files, *ranges.rows, strict=True):
        found |= {(int(file), row) for row in range(int(first), min(int(end), ROWS))}
    return found


@given(PARTS)
def test_rows_in_every_part_and_in_any(parts: list[list[tuple[int, int, int | None]]]) -> None:
    """A sweep over the ends of ranges finds the same rows as sets."""
    ranges = [ranges_of(part) for part in parts]
    sets = [rows_of(part) for part in ranges]
    assert rows_of(RowRanges.shared(ranges)) == set.intersection(*sets)
    assert rows_of(RowRanges.united(ranges)) == set.union(*sets)


@given(RANGES, st.permutations(range(FILES)), st.integers(-1, FILES - 1))
def test_files_get_other_numbers(
    drawn: list[tuple[int, int, int | None]], order: list[int], dropped: int
) -> None:
    """Renumbered ranges have the same rows, without those of files that are left out."""
    numbers = np.array([-1 if file == dropped else order[file] for file in range(FILES)])
    before = rows_of(ranges_of(drawn))
    after = rows_of(ranges_of(drawn).renumbered(numbers))
    assert after == {(int(numbers[file]), row) for file, row in before if file != dropped}


@given(st.lists(st.booleans(), min_size=FILES, max_size=FILES), RANGES, st.booleans())
def test_files_and_rows_are_joined(
    keep: list[bool], drawn: list[tuple[int, int, int | None]], every: bool
) -> None:
    """An answer of whole files is joined with an answer of rows."""
    files = Candidates(keep=np.array(keep))
    rows = Candidates.of_rows(ranges_of(drawn), FILES)
    joined = Candidates.joined([files, rows], every=every)
    sets = [rows_of(files.row_ranges), rows_of(rows.row_ranges)]
    expected = set.intersection(*sets) if every else set.union(*sets)
    assert rows_of(joined.row_ranges) == expected
    assert set(np.flatnonzero(joined.keep).tolist()) == {file for file, _ in expected}
