"""What the suite of keys of which a row has many needs to know of one kind of keys."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Mapping, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnTable:
    """Columns and conditions that are drawn.

    Args:
        columns: The columns that can get an index. The last one is a field of a struct.
        also: A column that sometimes has an index of its own values, too.
        value: Draws a value of a column as SQL. Its type is the same each time.
        leaf: Draws a condition on one of some columns, or on a column ``k`` as well.
        parts: Names of the columns that ``explode`` makes of a column, if it can.
        part_leaf: Draws a condition on these, or on a column ``k`` as well.
    """

    columns: Sequence[str]
    also: str = ""
    value: Callable[[random.Random, str], str]
    leaf: Callable[[random.Random, Sequence[str]], str]
    parts: str = ""
    part_leaf: Callable[[random.Random, str], str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTable:
    """Columns of the table of eight files with four rows each, and conditions on them.

    Args:
        columns: Expressions over the column ``id``, which numbers the rows.
        indexes: Names of indexes and their keys.
        skips: Conditions, and the number of files that each reads.
        exploded: The same for what follows the table in a query of elements or entries.
        unanswered: Conditions for which no index is of use.
        codes: The reasons that these may have.
        shown: A condition, and the parts that the report of its query has.
        numbered: One of the indexes, and a condition that is true of the row with a number.
        type: The type of this index's column, as ``show`` has it.
    """

    columns: Sequence[str]
    indexes: Mapping[str, str]
    skips: Mapping[str, tuple[str, int]]
    exploded: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    unanswered: Sequence[str]
    codes: frozenset[str] = frozenset({"no-usable-predicate"})
    shown: tuple[str, Sequence[str]]
    numbered: tuple[str, Callable[[int], str]]
    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallTable:
    """Columns ``c`` and ``d`` of the table of two files with ten rows each.

    Args:
        types: Types of ``c`` and ``d``.
        rows: Their values, as expressions over the column ``id``.
        added: Values of ``c`` in a third file: one for which ``old`` and ``new`` are true, and an
            empty one.
        old: A condition on a column ``{}``, which is true of row 3 and of the first added row.
        new: A condition that is true of the first added row alone.
        other: A condition on a column ``{}`` with the values of ``d``, which is true of row 3.
        budget: A budget for an index of ``d``, if the kind can have one.
        widened: What changes the type of the parts of ``d``, if a table can change it.
        plain: Conditions without Spark, and how many of the two files each reads.
    """

    types: tuple[str, str]
    rows: tuple[str, str]
    added: tuple[str, str]
    old: str
    new: str
    other: str
    budget: str | None = None
    widened: str = ""
    plain: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyKind:
    """A kind of keys of which a row has many."""

    name: str
    drawn: DrawnTable
    files: FileTable
    small: SmallTable
