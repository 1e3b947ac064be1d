"""Check whether queries with an index of the life model miss rows, or read files in vain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from tests.index.life_table import COLUMNS, matches

from lakesieve.index import OpenedIndex, RowRanges, keep_tree, usable_indexes
from lakesieve.predicate import bind, rows_where
from lakesieve.predicate.expression import IsNull

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from random import Random

    from tests.index.life import Copy
    from tests.index.life_build import Shape
    from tests.index.life_table import DataFile

    from lakesieve.predicate import Expr

KINDS = {column.field_id: (column.kind, column.scale) for column in COLUMNS.values()}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Answer:
    """Which data files a query reads.

    Args:
        known: The files that the indexes cover.
        kept: The rows to read of each of these files that must be read, as ranges.
    """

    known: frozenset[str]
    kept: Mapping[str, Sequence[tuple[int, int]]]

    def reads(self, path: str) -> bool:
        """Return whether a live file is read."""
        return path in self.kept or path not in self.known

    def rows(self, path: str, rows: set[int]) -> set[int]:
        """Return which of some rows of a live file are read."""
        if path not in self.known:
            return rows
        ranges = self.kept.get(path, ())
        return {row for row in rows if any(first <= row < end for first, end in ranges)}


def ask(index: OpenedIndex, expr: Expr) -> Answer:
    usable, reasons = usable_indexes([index], KINDS, "t")
    assert reasons == []
    plan = keep_tree(rows_where(bind(expr, COLUMNS, strict=False)), usable)
    if not plan.indexes:
        return Answer(known=frozenset(), kept={})
    covered = index.paths()
    paths = covered.to_pylist()
    judged = plan.of(covered)
    rows = judged.rows or RowRanges.whole(np.flatnonzero(judged.keep))
    kept: dict[str, list[tuple[int, int]]] = {}
    for at, *ends in zip(rows.files.tolist(), *(part.tolist() for part in rows.rows), strict=True):
        kept.setdefault(paths[at], []).append((ends[0], ends[1]))
    assert set(kept) == {paths[at] for at in np.flatnonzero(judged.keep)}
    return Answer(known=frozenset(paths), kept=kept)


def check(copy: Copy, shape: Shape, drawn: Random) -> None:
    """Check that every version of a table gives the same answers in every state of its index."""
    files = copy.table.retained()
    current = [copy.opened(), copy.opened(copy.number(drawn))]
    for expr in [copy.table.predicate(drawn), copy.table.predicate(drawn)]:
        matching = matches(expr, files.values())
        for index in [*current, *copy.pinned]:
            check_versions(copy, index, expr, matching)
    condition = copy.table.present(drawn, shape.paths)
    if condition is None:
        return
    matching = matches(condition, files.values())
    for index in current:
        answer = check_versions(copy, index, condition, matching)
        covered = index.paths().to_pylist()
        assert answer.known == set(covered)
        assert len(answer.known) == len(covered), "a data file is covered twice"
        if shape.exact:
            true = matching.keys() & answer.known
            assert answer.kept.keys() & files.keys() == true, f"{condition} reads false files"
            # of nulls an index knows the data files only
            if not isinstance(condition, IsNull):
                _check_exact(answer, matching, files, index.definition.rows_per_block)


def _check_exact(
    answer: Answer, matching: Mapping[str, set[int]], files: Mapping[str, DataFile], block: int
) -> None:
    """Check that exactly the blocks with a match are read."""
    for path in answer.kept.keys() & files.keys():
        count = len(files[path].rows)
        size = block or count
        wanted = {row // size for row in matching[path]}
        in_blocks = {row for row in range(count) if row // size in wanted}
        assert answer.rows(path, set(range(count))) == in_blocks


def check_versions(
    copy: Copy, index: OpenedIndex, expr: Expr, matching: Mapping[str, set[int]]
) -> Answer:
    """Check that the files that are read contain all matching rows of all kept versions."""
    answer = ask(index, expr)
    for version in copy.table.versions.values():
        read = [path for path in version.files if answer.reads(path)]
        every = version.rows(matching, version.files)
        seen = {path: answer.rows(path, rows) for path, rows in matching.items()}
        assert version.rows(seen, read) == every, (
            f"version {version.number} of {copy.name} misses rows for {expr} "
            f"by commit {index.snapshot.number}"
        )
    # whether a row is deleted is nothing that an index may know
    assert [path for path in matching if not answer.reads(path)] == []
    return answer
