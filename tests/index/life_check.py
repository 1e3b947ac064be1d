"""Check whether queries with an index of the life model miss rows, or read files in vain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.index.life_table import COLUMNS, matches

from lakesieve.index import OpenedIndex, keep_tree, usable_indexes
from lakesieve.predicate import bind, rows_where

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random

    from tests.index.life import Copy
    from tests.index.life_build import Shape

    from lakesieve.predicate.expression import Expr

KINDS = {column.field_id: (column.kind, column.scale) for column in COLUMNS.values()}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Answer:
    """Which data files a query reads.

    Args:
        known: The files that the indexes cover.
        kept: Those of these files that must be read.
    """

    known: frozenset[str]
    kept: frozenset[str]

    def reads(self, path: str) -> bool:
        """Return whether a live file is read."""
        return path in self.kept or path not in self.known


def ask(index: OpenedIndex, expr: Expr) -> Answer:
    usable, reasons = usable_indexes([index], KINDS, "t")
    assert reasons == []
    plan = keep_tree(rows_where(bind(expr, COLUMNS, strict=False)), usable)
    if not plan.indexes:
        return Answer(known=frozenset(), kept=frozenset())
    covered = index.paths()
    paths = covered.to_pylist()
    kept = (path for path, keep in zip(paths, plan.of(covered)[0].tolist(), strict=True) if keep)
    return Answer(known=frozenset(paths), kept=frozenset(kept))


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
            assert answer.kept & files.keys() == true, f"{condition} reads false files"


def check_versions(
    copy: Copy, index: OpenedIndex, expr: Expr, matching: Mapping[str, set[int]]
) -> Answer:
    """Check that the files that are read contain all matching rows of all kept versions."""
    answer = ask(index, expr)
    for version in copy.table.versions.values():
        read = [path for path in version.files if answer.reads(path)]
        every = version.rows(matching, version.files)
        assert version.rows(matching, read) == every, (
            f"version {version.number} of {copy.name} misses rows for {expr} "
            f"by commit {index.snapshot.number}"
        )
    # whether a row is deleted is nothing that an index may know
    assert [path for path in matching if not answer.reads(path)] == []
    return answer
