"""The stored definition of an index: what its keys are, and how it is maintained."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

from lakesieve.defaults import ABSENT_HITS, COMPACTION
from lakesieve.errors import ErrorKind, IndexFormatError
from lakesieve.format.documents import checked
from lakesieve.format.units import Unit
from lakesieve.sieve import KeysOfRow

if TYPE_CHECKING:
    from collections.abc import Sequence

INDEX_KIND = "sieve"
"""The kind of an index of data files: blocks of sorted keys, each with the files that hold them."""

ROWS_KIND = "sieve-rows"
"""The kind of an index of row blocks, which earlier versions refuse."""

EXPRESSION_KIND = "sieve-expression"
"""The kind of an index whose key is an expression. Earlier versions refuse it."""

ELEMENTS_KIND = "sieve-elements"
"""The kind of an index whose keys are the elements of a list. Earlier versions refuse it."""

ENTRIES_KIND = "sieve-entries"
"""The kind of an index whose keys are the entries of a map. Earlier versions refuse it."""

WORDS_KIND = "sieve-words"
"""The kind of an index whose keys are the words of a text. Earlier versions refuse it."""

KEYS_KIND = "sieve-keys"
"""The kind of an index on several keys that are not all columns. Earlier versions refuse it."""

KINDS_OF_INDEXES = (
    INDEX_KIND,
    ROWS_KIND,
    EXPRESSION_KIND,
    ELEMENTS_KIND,
    ENTRIES_KIND,
    WORDS_KIND,
    KEYS_KIND,
)
"""All kinds that this version reads."""

# what begins the tree of a key of which a row may have many, and no other tree
_OF_MANY = {
    '["elements",': ELEMENTS_KIND,
    '["entries",': ENTRIES_KIND,
    '["words",': WORDS_KIND,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyColumn:
    """A key column as it was when the index was created. Its name and type may have changed since.

    Args:
        field_id: The column's identity in the table, which renames do not change.
        key_kind: The kind of key codes that its values become.
    """

    field_id: int
    name: str
    type: str
    key_kind: str
    scale: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceColumn:
    """A column that an expression reads, as it was when the index was created."""

    field_id: int
    name: str
    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyExpression:
    """An expression that gives keys of an index.

    The keys are the values of an expression over columns, the elements of a list, the entries of a
    map, or the words of a text.

    Args:
        sql: The expression as the user wrote it.
        tree: The expression as JSON with columns by field id, in the form that the specification
            describes. Expressions with the same tree have the same values.
        columns: The columns that the expression reads.
    """

    sql: str
    tree: str
    columns: tuple[SourceColumn, ...]

    @property
    def field_id(self) -> int:
        """The identity of the expression among the fields of the table."""
        return tree_identity(self.tree)

    @property
    def kind(self) -> str:
        """The kind of the index that has these keys alone."""
        begins = (kind for begin, kind in _OF_MANY.items() if self.tree.startswith(begin))
        return next(begins, EXPRESSION_KIND)

    @property
    def keys_of_row(self) -> KeysOfRow:
        """How the keys of a row follow from the values that are read."""
        others = {EXPRESSION_KIND: KeysOfRow.ONE, WORDS_KIND: KeysOfRow.WORDS}
        return others.get(self.kind, KeysOfRow.LISTS)

    @property
    def has_many(self) -> bool:
        """True if a row has zero, one or many keys: elements, entries or words."""
        return self.keys_of_row is not KeysOfRow.ONE

    @property
    def field_ids(self) -> tuple[int, ...]:
        """The identities of the parts of a key: key and value of an entry, or one value."""
        return (self.field_id, tree_identity(f"{self.tree} value"))[
            : 1 + (self.kind == ENTRIES_KIND)
        ]

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Self:
        """Parse an expression."""
        plain = dict(document)
        sources = plain.pop("columns")
        columns = tuple(SourceColumn(**checked(SourceColumn, column)) for column in sources)
        if not columns:
            raise ValueError("its expression has no columns")
        return cls(**checked(cls, plain, skip={"columns"}), columns=columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexKey:
    """One of the keys of an index, as its user names it: a column, or an expression.

    Args:
        columns: The key columns: two for the entries of a map, otherwise one.
        expression: The expression; ``None`` for a column.
    """

    columns: tuple[KeyColumn, ...]
    expression: KeyExpression | None = None

    @property
    def name(self) -> str:
        """The name of the column, or the text of the expression."""
        return self.columns[0].name if self.expression is None else self.expression.sql

    @property
    def type(self) -> str:
        """The type of the column, of the value of the expression, or of a part of it."""
        types = [column.type for column in self.columns]
        return types[0] if len(types) == 1 else f"map<{','.join(types)}>"

    @property
    def has_many(self) -> bool:
        """True if a row has zero, one or many of it: elements, entries or words."""
        return self.expression is not None and self.expression.has_many


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexDefinition:
    """What is indexed. It is written once, in the first commit.

    Args:
        columns: The key columns. The column of an expression describes its value: ``field_id`` is
            that of the expression, ``name`` its SQL text. Entries of a map have two columns: one
            describes the key of an entry, and one its value.
        budget: Limit of the size or of false files, such as ``2 bits``; empty for exact blocks.
        absent_hits: Share of absent keys that may find a data file.
        compaction: How many deltas may exist before they are merged, or ``auto``.
        borrowed_roots: For a clone: the roots of other indexes that hold objects of this index.
        rows_per_block: Rows of a block; 0 for an index of whole data files.
        expressions: The expressions among the keys, in the order of the keys.
    """

    name: str
    index_uuid: str
    table_format: str
    table_uuid: str
    table_location: str
    columns: tuple[KeyColumn, ...]
    created_at: str
    budget: str = ""
    absent_hits: float = ABSENT_HITS
    compaction: str = COMPACTION
    borrowed_roots: tuple[str, ...] = ()
    rows_per_block: int = 0
    expressions: tuple[KeyExpression, ...] = ()

    @property
    def kind(self) -> str:
        """The kind of the index, by which a reader knows whether it understands the definition."""
        if self.expressions:
            return KEYS_KIND if len(self.keys) > 1 else self.expressions[0].kind
        return ROWS_KIND if self.rows_per_block else INDEX_KIND

    @property
    def keys(self) -> tuple[IndexKey, ...]:
        """The keys as their user named them: columns and expressions."""
        keys: list[IndexKey] = []
        expressions, columns = list(self.expressions), list(self.columns)
        while columns:
            expression = None
            if expressions and expressions[0].field_id == columns[0].field_id:
                expression = expressions.pop(0)
            count = 1 if expression is None else len(expression.field_ids)
            keys.append(IndexKey(columns=tuple(columns[:count]), expression=expression))
            del columns[:count]
        return tuple(keys)

    @property
    def key_names(self) -> tuple[str, ...]:
        """The names of the keys."""
        return tuple(key.name for key in self.keys)

    @property
    def types(self) -> tuple[str, ...]:
        """The types of the keys."""
        return tuple(key.type for key in self.keys)

    @property
    def key_of_many(self) -> IndexKey | None:
        """The key of which a row has zero, one or many, if any."""
        if not any(expression.has_many for expression in self.expressions):
            return None
        return next(key for key in self.keys if key.has_many)

    @property
    def has_whole_keys(self) -> bool:
        """True if every key is the separator of a block, so that all keys can be read."""
        return any(expression.kind == WORDS_KIND for expression in self.expressions)

    @property
    def unit(self) -> Unit:
        """What the ordinals of its catalogues stand for."""
        return Unit(self.rows_per_block)

    def to_json(self) -> dict[str, Any]:
        """Return the definition as a JSON object."""
        document = asdict(self)
        # each kind as the versions before the next kind wrote and read it
        expressions = document.pop("expressions")
        if self.kind == KEYS_KIND:
            document["expressions"] = expressions
        elif expressions:
            (document["expression"],) = expressions
        elif not self.rows_per_block:
            del document["rows_per_block"]
        return document | {"kind": self.kind}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Self:
        """Parse a definition."""
        # checked first, because another kind may have other fields
        plain = dict(document)
        kind = plain.pop("kind")
        _check_kind(kind)
        if kind == INDEX_KIND:
            plain = {"rows_per_block": 0} | plain
        given: list[Any] = []
        if kind == KEYS_KIND:
            given = plain.pop("expressions")
        elif kind not in (INDEX_KIND, ROWS_KIND):
            given = [plain.pop("expression")]
        expressions = tuple(map(KeyExpression.from_json, given))
        columns = tuple(KeyColumn(**checked(KeyColumn, column)) for column in plain.pop("columns"))
        rest = checked(cls, plain, skip={"columns", "expressions"})
        read = cls(**rest, columns=columns, expressions=expressions)
        if not columns or not 0 < read.absent_hits <= 1:
            raise ValueError("it has no columns, or absent_hits is not above 0 and at most 1")
        _check_keys(read.keys, expressions)
        if kind != read.kind:
            raise ValueError(f"its fields are not those of the kind {kind}")
        if read.has_whole_keys and read.budget:
            raise ValueError("its keys are whole, and it has a budget")
        return read


def tree_identity(tree: str) -> int:
    """Return the identity of an expression among the fields of its table, from its stored tree."""
    return int.from_bytes(hashlib.sha256(tree.encode()).digest()[:8], "big") >> 1


def _check_keys(keys: Sequence[IndexKey], expressions: Sequence[KeyExpression]) -> None:
    """Check that the columns of keys are those of the expressions among them."""
    found = [key for key in keys if key.expression is not None]
    ids = [tuple(column.field_id for column in key.columns) for key in found]
    if ids != [expression.field_ids for expression in expressions]:
        raise ValueError("the field ids of its columns are not those of its expressions")
    if sum(key.has_many for key in keys) > 1:
        raise ValueError("a row has many of more than one key")


def _check_kind(kind: Any) -> None:
    """Refuse an index of a kind that only a newer version of lakesieve knows."""
    if not isinstance(kind, str):
        raise ValueError(f"the kind is {kind!r}")
    if kind not in KINDS_OF_INDEXES:
        raise IndexFormatError(
            f"The index has the kind {kind!r}; this version of lakesieve reads only "
            f"{', '.join(map(repr, KINDS_OF_INDEXES))}.",
            kind=ErrorKind.TOO_NEW,
            hint="Upgrade lakesieve. Queries read every file until then.",
        )
