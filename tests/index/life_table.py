"""A table in memory for the model of an index's life: immutable files, versions, branches, marks.

A row-level delete only adds marks to a version, as merge-on-read does; an update adds the changed
rows in a new file; a rewrite puts the rows that are left into new files.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from tests.predicate.row_evaluator import accepts

from lakesieve.predicate import ColumnType
from lakesieve.predicate.expression import (
    And,
    Compare,
    In,
    IsNull,
    Literal,
    Not,
    NullSafeEqual,
    Or,
    StartsWith,
)

if TYPE_CHECKING:
    import itertools
    from collections.abc import Iterable, Mapping
    from random import Random

    from lakesieve.predicate.expression import Expr

T = TypeVar("T")
Value = int | bytes | None
Row = dict[tuple[str, ...], Value]
Mark = tuple[str, int]

COLUMNS: dict[tuple[str, ...], ColumnType] = {
    ("k",): ColumnType(field_id=1, kind="integer"),
    ("s",): ColumnType(field_id=2, kind="string"),
}
MAIN = "main"
_LOWEST, _HIGHEST = -(2**63), 2**63 - 1
_ALPHABETS = (b"0123456789", b"0123456789abcdef", bytes(range(256)), b"ab\x00\xff")
_MAX_VERSIONS = 9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DataFile:
    """A data file; its rows never change."""

    path: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Version:
    """A version of a table.

    Args:
        number: Its number among all versions of all tables.
        files: The live data files by path.
        marks: Rows of those that are deleted.
    """

    number: int
    files: Mapping[str, DataFile]
    marks: frozenset[Mark] = frozenset()

    def rows(self, matching: Mapping[str, set[int]], read: Iterable[str]) -> set[Mark]:
        """What a query returns that reads some of the live files."""
        found = {(path, at) for path in read for at in matching.get(path, ())}
        return found - self.marks


@dataclass(slots=True, kw_only=True)
class ModelTable:
    """A table: the versions that are kept, and the branches that point at some of them.

    Args:
        counter: Numbers everything; shared by all tables of a life.
        versions: By number.
        branches: Numbers of versions by name.
    """

    counter: itertools.count[int]
    versions: dict[int, Version] = field(default_factory=dict)
    branches: dict[str, int] = field(default_factory=dict)

    def start(self, files: Mapping[str, DataFile], marks: frozenset[Mark] = frozenset()) -> None:
        """Make the first version."""
        self._commit(MAIN, Version(number=0, files=files, marks=marks))

    def head(self, branch: str = MAIN) -> Version:
        """What a branch points at."""
        return self.versions[self.branches[branch]]

    def any_branch(self, drawn: Random) -> str:
        """One of the branches, most often the main one."""
        return MAIN if drawn.random() < 0.7 else drawn.choice(sorted(self.branches))

    def retained(self) -> dict[str, DataFile]:
        """All data files that any kept version holds."""
        return {path: file for v in self.versions.values() for path, file in v.files.items()}

    def append(self, drawn: Random, count: int) -> None:
        """Add files of new rows."""
        branch = self.any_branch(drawn)
        new = [self._file(self.rows(drawn, drawn.choice([0, 1, 4, 12, 25]))) for _ in range(count)]
        self._changed(branch, added=new)

    def delete(self, drawn: Random) -> None:
        """Mark rows of some files as deleted."""
        branch = self.any_branch(drawn)
        self._changed(branch, marks=set(self._some_rows(drawn, branch)))

    def update(self, drawn: Random) -> None:
        """Mark rows as deleted and add them, changed, in a new file."""
        branch = self.any_branch(drawn)
        chosen = self._some_rows(drawn, branch)
        rows = [dict(self.head(branch).files[path].rows[at]) for path, at in chosen]
        for row in rows:
            row.update(self.rows(drawn, 1)[0] if drawn.random() < 0.5 else {("s",): b"changed"})
        self._changed(branch, added=[self._file(rows)], marks=set(chosen))

    def rewrite(self, drawn: Random) -> None:
        """Put the rows that are left of some files into one or two new files."""
        branch = self.any_branch(drawn)
        head = self.head(branch)
        old = _sample(drawn, sorted(head.files), 4)
        rows = [
            row
            for path in old
            for at, row in enumerate(head.files[path].rows)
            if (path, at) not in head.marks
        ]
        half = len(rows) // 2 if drawn.random() < 0.4 else 0
        new = [self._file(chunk) for chunk in (rows[:half], rows[half:]) if chunk]
        self._changed(branch, added=new, removed=old)

    def branch(self, drawn: Random) -> None:
        """Make a branch, or drop one."""
        others = sorted(set(self.branches) - {MAIN})
        if len(others) >= 2:
            del self.branches[others[0]]
        else:
            name = f"branch{next(self.counter)}"
            self.branches[name] = drawn.choice(sorted(self.versions))

    def roll_back(self, drawn: Random) -> None:
        """Make the main branch an earlier version again."""
        self.branches[MAIN] = drawn.choice(sorted(self.versions))

    def expire(self, drawn: Random) -> None:
        """Drop all but the last few versions and what branches point at."""
        self._keep(drawn.randint(1, 4))

    def _keep(self, count: int) -> None:
        kept = {*sorted(self.versions)[-count:], *self.branches.values()}
        self.versions = {number: v for number, v in self.versions.items() if number in kept}

    def rows(self, drawn: Random, count: int) -> list[Row]:
        """New rows: keys that grow, some late, some far away, texts of one alphabet, some nulls."""
        base = next(self.counter) * 3
        alphabet = drawn.choice(_ALPHABETS)
        lengths = drawn.choice([(4, 4), (0, 3), (8, 20)])
        nulls = drawn.choice([0.0, 0.0, 0.1, 1.0])
        found: list[Row] = []
        for at in range(count):
            far = drawn.choice([_LOWEST, _HIGHEST, drawn.getrandbits(63) - 2**62])
            number = drawn.choice([base + at, base + at, drawn.randint(0, base + 1), far])
            text = bytes(drawn.choices(alphabet, k=drawn.randint(*lengths)))
            found.append(
                {
                    ("k",): None if drawn.random() < nulls else number,
                    ("s",): None if drawn.random() < nulls else text,
                }
            )
        return found

    def predicate(self, drawn: Random, depth: int = 0) -> Expr:
        """A condition, on values that are there as often as on others."""
        if depth < 2 and drawn.random() < 0.3:
            args = (self.predicate(drawn, depth + 1), self.predicate(drawn, depth + 1))
            either: list[Expr] = [Not(arg=args[0]), And(args=args), Or(args=args)]
            return drawn.choice(either)
        column = drawn.choice(sorted(COLUMNS))
        kind = drawn.randrange(7)
        if kind == 0:
            return In(
                column=column,
                values=tuple(self._literal(drawn, column) for _ in range(drawn.randint(1, 4))),
                has_null=drawn.random() < 0.2,
            )
        if kind == 1:
            return IsNull(column=column)
        if kind == 2:
            return NullSafeEqual(column=column, value=self._literal(drawn, column))
        if kind == 3 and column == ("s",):
            value = self._literal(drawn, column).value
            return StartsWith(column=column, prefix=value[: drawn.randint(0, 4)])  # type: ignore[index]
        op = drawn.choice(["=", "=", "=", "<", "<=", ">", ">="])
        return Compare(column=column, op=op, value=self._literal(drawn, column))

    def present(self, drawn: Random, columns: Iterable[tuple[str, ...]]) -> Expr | None:
        """A condition that holds for one row at least of a kept file, by its own values."""
        files = [file for _, file in sorted(self.retained().items()) if file.rows]
        if not files:
            return None
        row = drawn.choice(drawn.choice(files).rows)
        conditions: list[Expr] = []
        for column in columns:
            value = row[column]
            if value is None:
                conditions.append(IsNull(column=column))
            else:
                literal = Literal(kind=COLUMNS[column].kind, value=value)
                conditions.append(Compare(column=column, op="=", value=literal))
        return conditions[0] if len(conditions) == 1 else And(args=tuple(conditions))

    def _literal(self, drawn: Random, column: tuple[str, ...]) -> Literal:
        values = [
            row[column]
            for file in _sample(drawn, list(self.head().files.values()), 2)
            for row in _sample(drawn, list(file.rows), 2)
        ]
        value = drawn.choice([*values, self.rows(drawn, 1)[0][column]])
        if value is None:
            value = 7 if column == ("k",) else b"7"
        return Literal(kind=COLUMNS[column].kind, value=value)

    def _some_rows(self, drawn: Random, branch: str) -> list[Mark]:
        head = self.head(branch)
        rows = [
            (path, at)
            for path in _sample(drawn, sorted(head.files), 3)
            for at in range(len(head.files[path].rows))
            if (path, at) not in head.marks
        ]
        return _sample(drawn, rows, 8)

    def _file(self, rows: list[Row]) -> DataFile:
        return DataFile(path=f"/t/data/{next(self.counter)}.parquet", rows=tuple(rows))

    def _changed(
        self,
        branch: str,
        *,
        added: Iterable[DataFile] = (),
        removed: Iterable[str] = (),
        marks: Iterable[Mark] = (),
    ) -> None:
        head = self.head(branch)
        gone = set(removed)
        files = {path: file for path, file in head.files.items() if path not in gone}
        files |= {file.path: file for file in added}
        left = frozenset(mark for mark in {*head.marks, *marks} if mark[0] in files)
        self._commit(branch, replace(head, files=files, marks=left))

    def _commit(self, branch: str, version: Version) -> None:
        number = next(self.counter)
        self.versions[number] = replace(version, number=number)
        self.branches[branch] = number
        if len(self.versions) > _MAX_VERSIONS:
            self._keep(_MAX_VERSIONS // 2)


def _sample(drawn: Random, items: list[T], most: int) -> list[T]:
    return drawn.sample(items, min(len(items), drawn.randint(1, most)))


def matches(expr: Expr, files: Iterable[DataFile]) -> dict[str, set[int]]:
    """By path the rows, deleted ones too, for which a condition is true."""
    found: dict[str, set[int]] = {}
    for file in files:
        rows = {at for at, row in enumerate(file.rows) if accepts(expr, row) is True}
        if rows:
            found[file.path] = rows
    return found
