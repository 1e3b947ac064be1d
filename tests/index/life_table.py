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
        random: Draws all that is random.
        counter: Numbers everything; shared by all tables of a life.
        versions: By number.
        branches: Numbers of versions by name.
    """

    random: Random
    counter: itertools.count[int]
    versions: dict[int, Version] = field(default_factory=dict)
    branches: dict[str, int] = field(default_factory=dict)

    def start(self, files: Mapping[str, DataFile], marks: frozenset[Mark] = frozenset()) -> None:
        """Make the first version."""
        self._commit(MAIN, Version(number=0, files=files, marks=marks))

    def head(self, branch: str = MAIN) -> Version:
        """What a branch points at."""
        return self.versions[self.branches[branch]]

    def any_branch(self) -> str:
        """One of the branches, most often the main one."""
        return MAIN if self.random.random() < 0.7 else self.random.choice(sorted(self.branches))

    def retained(self) -> dict[str, DataFile]:
        """All data files that any kept version holds."""
        return {path: file for v in self.versions.values() for path, file in v.files.items()}

    def append(self, count: int) -> str:
        """Add files of new rows."""
        branch = self.any_branch()
        new = [self._file(self.rows(self.random.choice([0, 1, 4, 12, 25]))) for _ in range(count)]
        return self._changed(branch, added=new)

    def delete(self) -> str:
        """Mark rows of some files as deleted."""
        branch = self.any_branch()
        return self._changed(branch, marks=set(self._some_rows(branch)))

    def update(self) -> str:
        """Mark rows as deleted and add them, changed, in a new file."""
        branch = self.any_branch()
        chosen = self._some_rows(branch)
        rows = [dict(self.head(branch).files[path].rows[at]) for path, at in chosen]
        for row in rows:
            row.update(self.rows(1)[0] if self.random.random() < 0.5 else {("s",): b"changed"})
        return self._changed(branch, added=[self._file(rows)], marks=set(chosen))

    def rewrite(self) -> str:
        """Put the rows that are left of some files into one or two new files."""
        branch = self.any_branch()
        head = self.head(branch)
        old = self._sample(sorted(head.files), 4)
        rows = [
            row
            for path in old
            for at, row in enumerate(head.files[path].rows)
            if (path, at) not in head.marks
        ]
        half = len(rows) // 2 if self.random.random() < 0.4 else 0
        new = [self._file(chunk) for chunk in (rows[:half], rows[half:]) if chunk]
        return self._changed(branch, added=new, removed=old)

    def branch(self) -> str:
        """Make a branch, or drop one."""
        others = sorted(set(self.branches) - {MAIN})
        if len(others) >= 2:
            del self.branches[others[0]]
            return f"dropped {others[0]}"
        name = f"branch{next(self.counter)}"
        self.branches[name] = self.random.choice(sorted(self.versions))
        return f"{name} at {self.branches[name]}"

    def roll_back(self) -> str:
        """Make the main branch an earlier version again."""
        self.branches[MAIN] = self.random.choice(sorted(self.versions))
        return f"main at {self.branches[MAIN]}"

    def expire(self, keep: int | None = None) -> str:
        """Drop all but the last few versions and what branches point at."""
        last = sorted(self.versions)[-(keep or self.random.randint(1, 4)) :]
        kept = {*last, *self.branches.values()}
        gone = sorted(set(self.versions) - kept)
        self.versions = {number: v for number, v in self.versions.items() if number in kept}
        return f"without {gone}"

    def rows(self, count: int) -> list[Row]:
        """New rows: keys that grow, some late, some far away, texts of one alphabet, some nulls."""
        random = self.random
        base = next(self.counter) * 3
        alphabet = random.choice(_ALPHABETS)
        lengths = random.choice([(4, 4), (0, 3), (8, 20)])
        nulls = random.choice([0.0, 0.0, 0.1, 1.0])
        found: list[Row] = []
        for at in range(count):
            far = random.choice([_LOWEST, _HIGHEST, random.getrandbits(63) - 2**62])
            number = random.choice([base + at, base + at, random.randint(0, base + 1), far])
            text = bytes(random.choices(alphabet, k=random.randint(*lengths)))
            found.append(
                {
                    ("k",): None if random.random() < nulls else number,
                    ("s",): None if random.random() < nulls else text,
                }
            )
        return found

    def predicate(self, depth: int = 0) -> Expr:
        """A condition, on values that are there as often as on others."""
        random = self.random
        if depth < 2 and random.random() < 0.3:
            args = (self.predicate(depth + 1), self.predicate(depth + 1))
            either: list[Expr] = [Not(arg=args[0]), And(args=args), Or(args=args)]
            return random.choice(either)
        column = random.choice(sorted(COLUMNS))
        kind = random.randrange(7)
        if kind == 0:
            return In(
                column=column,
                values=tuple(self._literal(column) for _ in range(random.randint(1, 4))),
                has_null=random.random() < 0.2,
            )
        if kind == 1:
            return IsNull(column=column)
        if kind == 2:
            return NullSafeEqual(column=column, value=self._literal(column))
        if kind == 3 and column == ("s",):
            value = self._literal(column).value
            return StartsWith(column=column, prefix=value[: random.randint(0, 4)])  # type: ignore[index]
        op = random.choice(["=", "=", "=", "<", "<=", ">", ">="])
        return Compare(column=column, op=op, value=self._literal(column))

    def present(self, columns: Iterable[tuple[str, ...]]) -> Expr | None:
        """A condition that holds for one row at least of a kept file, by its own values."""
        files = [file for _, file in sorted(self.retained().items()) if file.rows]
        if not files:
            return None
        row = self.random.choice(self.random.choice(files).rows)
        conditions: list[Expr] = []
        for column in columns:
            value = row[column]
            if value is None:
                conditions.append(IsNull(column=column))
            else:
                literal = Literal(kind=COLUMNS[column].kind, value=value)
                conditions.append(Compare(column=column, op="=", value=literal))
        return conditions[0] if len(conditions) == 1 else And(args=tuple(conditions))

    def _literal(self, column: tuple[str, ...]) -> Literal:
        values = [
            row[column]
            for file in self._sample(list(self.head().files.values()), 2)
            for row in self._sample(list(file.rows), 2)
        ]
        drawn = self.random.choice([*values, self.rows(1)[0][column]])
        if drawn is None:
            drawn = 7 if column == ("k",) else b"7"
        return Literal(kind=COLUMNS[column].kind, value=drawn)

    def _sample(self, items: list[T], most: int) -> list[T]:
        return self.random.sample(items, min(len(items), self.random.randint(1, most)))

    def _some_rows(self, branch: str) -> list[Mark]:
        head = self.head(branch)
        rows = [
            (path, at)
            for path in self._sample(sorted(head.files), 3)
            for at in range(len(head.files[path].rows))
            if (path, at) not in head.marks
        ]
        return self._sample(rows, 8)

    def _file(self, rows: list[Row]) -> DataFile:
        return DataFile(path=f"/t/data/{next(self.counter)}.parquet", rows=tuple(rows))

    def _changed(
        self,
        branch: str,
        *,
        added: Iterable[DataFile] = (),
        removed: Iterable[str] = (),
        marks: Iterable[Mark] = (),
    ) -> str:
        head = self.head(branch)
        gone = set(removed)
        files = {path: file for path, file in head.files.items() if path not in gone}
        files |= {file.path: file for file in added}
        left = frozenset(mark for mark in {*head.marks, *marks} if mark[0] in files)
        number = self._commit(branch, replace(head, files=files, marks=left))
        rows = sum(len(file.rows) for file in added)
        return f"{branch} at {number}: +{len(list(added))} files of {rows} rows, -{len(gone)}"

    def _commit(self, branch: str, version: Version) -> int:
        number = next(self.counter)
        self.versions[number] = replace(version, number=number)
        self.branches[branch] = number
        if len(self.versions) > _MAX_VERSIONS:
            self.expire(_MAX_VERSIONS // 2)
        return number


def matches(expr: Expr, files: Iterable[DataFile]) -> dict[str, set[int]]:
    """By path the rows, deleted ones too, for which a condition is true."""
    found: dict[str, set[int]] = {}
    for file in files:
        rows = {at for at, row in enumerate(file.rows) if accepts(expr, row) is True}
        if rows:
            found[file.path] = rows
    return found
