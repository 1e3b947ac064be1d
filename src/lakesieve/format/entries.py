"""The stored descriptions of an index: its definition, segments and file catalogues."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Self

from lakesieve.defaults import ABSENT_HITS, COMPACTION
from lakesieve.errors import ErrorKind, IndexFormatError
from lakesieve.format.units import DATA_FILE, Unit
from lakesieve.sieve import KeysOfRow

if TYPE_CHECKING:
    from lakesieve.sieve import Code

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

KINDS_OF_INDEXES = (
    INDEX_KIND,
    ROWS_KIND,
    EXPRESSION_KIND,
    ELEMENTS_KIND,
    ENTRIES_KIND,
    WORDS_KIND,
)
"""All kinds that this version reads."""

# what begins the tree of a key of which a row may have many, and no other tree
_OF_MANY = {
    '["elements",': ELEMENTS_KIND,
    '["entries",': ENTRIES_KIND,
    '["words",': WORDS_KIND,
}
_SEGMENT = re.compile(r"segments/[0-9a-f]{40}\.sieve")
_CATALOGUE = re.compile(r"files/[0-9a-f]{40}\.parquet")


def code_to_json(code: Code) -> int | dict[str, str]:
    """Return a key code as JSON: a number, or base64 for bytes."""
    return code if isinstance(code, int) else {"bytes": base64.b64encode(code).decode("ascii")}


def code_from_json(value: Any) -> Code:
    """Parse a key code."""
    if isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63:
        return value
    if isinstance(value, dict) and set(value) == {"bytes"} and isinstance(value["bytes"], str):
        try:
            return base64.b64decode(value["bytes"], validate=True)
        except binascii.Error as error:
            raise ValueError("the value is not base64") from error
    raise ValueError(f"{value!r} is not a key code")


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
    """The expression that gives the keys of an index.

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
        """The kind of the index that has these keys."""
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
class IndexDefinition:
    """What is indexed. It is written once, in the first commit.

    Args:
        columns: The key columns. If the key is an expression, the only element describes its value:
            ``field_id`` is that of the expression, ``name`` its SQL text. If the keys are the
            entries of a map, one element describes the key of an entry, and one its value.
        budget: Limit of the size or of false files, such as ``2 bits``; empty for exact blocks.
        absent_hits: Share of absent keys that may find a data file.
        compaction: How many deltas may exist before they are merged, or ``auto``.
        borrowed_roots: For a clone: the roots of other indexes that hold objects of this index.
        rows_per_block: Rows of a block; 0 for an index of whole data files.
        expression: The expression whose values are the keys; ``None`` if columns are the keys.
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
    expression: KeyExpression | None = None

    @property
    def kind(self) -> str:
        """The kind of the index, by which a reader knows whether it understands the definition."""
        if self.expression is not None:
            return self.expression.kind
        return ROWS_KIND if self.rows_per_block else INDEX_KIND

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys as their user named them: columns, or one expression."""
        if self.expression is not None:
            return (self.expression.sql,)
        return tuple(column.name for column in self.columns)

    @property
    def types(self) -> tuple[str, ...]:
        """The types of the keys."""
        types = tuple(column.type for column in self.columns)
        return (f"map<{','.join(types)}>",) if self.kind == ENTRIES_KIND else types

    @property
    def has_whole_keys(self) -> bool:
        """True if every key is the separator of a block, so that all keys can be read."""
        return self.kind == WORDS_KIND

    @property
    def unit(self) -> Unit:
        """What the ordinals of its catalogues stand for."""
        return Unit(self.rows_per_block)

    def to_json(self) -> dict[str, Any]:
        """Return the definition as a JSON object."""
        document = asdict(self)
        # each kind as the versions before the next kind wrote and read it
        if self.expression is None:
            del document["expression"]
            if not self.rows_per_block:
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
        has_expression = kind in (EXPRESSION_KIND, *_OF_MANY.values())
        given = plain.pop("expression") if has_expression else None
        expression = None if given is None else KeyExpression.from_json(given)
        columns = tuple(KeyColumn(**checked(KeyColumn, column)) for column in plain.pop("columns"))
        rest = checked(cls, plain, skip={"columns", "expression"})
        read = cls(**rest, columns=columns, expression=expression)
        if not columns or not 0 < read.absent_hits <= 1:
            raise ValueError("it has no columns, or absent_hits is not above 0 and at most 1")
        if kind != read.kind:
            raise ValueError(f"its fields are not those of the kind {kind}")
        if read.has_whole_keys and read.budget:
            raise ValueError("its keys are whole, and it has a budget")
        if expression and tuple(column.field_id for column in columns) != expression.field_ids:
            raise ValueError("the field ids of its columns are not those of its expression")
        return read


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueEntry:
    """A file catalogue: the numbered data files that a commit covered.

    Args:
        id: Hash of the paths of its data files. Segments refer to it.
        sha256: Checksum of the whole file.
        records: Total rows of its data files.
        root: 0 for the index's own root, ``n`` for the ``n``-th borrowed root.
    """

    id: str
    path: str
    size: int
    sha256: str
    files: int
    records: int
    root: int = 0
    unit: Unit = DATA_FILE

    @property
    def most_units(self) -> int:
        """Upper bound of its ordinals."""
        return self.unit.most(files=self.files, records=self.records)

    def to_json(self) -> dict[str, Any]:
        """Return the entry as a JSON object."""
        return asdict(self) | {"unit": str(self.unit)}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Self:
        """Parse an entry."""
        plain = dict(document)
        unit = Unit.parse(plain.pop("unit"))
        entry = cls(**checked(cls, plain, skip={"unit"}), unit=unit)
        if not _CATALOGUE.fullmatch(entry.path):
            raise ValueError("its path leads outside the index")
        return entry


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentEntry:
    """A segment: blocks of keys between two bounds.

    Args:
        footer_sha256: Checksum of the footer, which contains the checksums of the row groups.
        key_min: First key code.
        key_max: Last key code.
        pairs: Number of distinct (key, file) pairs.
        root: 0 for the index's own root, ``n`` for the ``n``-th borrowed root.
    """

    path: str
    size: int
    footer_length: int
    footer_sha256: str
    catalogue: str
    key_min: Code
    key_max: Code
    blocks: int
    keys: int
    pairs: int
    row_groups: int
    root: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return the entry as a JSON object."""
        bounds = {"key_min": code_to_json(self.key_min), "key_max": code_to_json(self.key_max)}
        return {field.name: getattr(self, field.name) for field in fields(self)} | bounds

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Self:
        """Parse an entry."""
        plain = dict(document)
        key_min, key_max = (code_from_json(plain.pop(name)) for name in ("key_min", "key_max"))
        rest = checked(cls, plain, skip={"key_min", "key_max"})
        entry = cls(**rest, key_min=key_min, key_max=key_max)
        if not _SEGMENT.fullmatch(entry.path):
            raise ValueError("its path leads outside the index")
        ordered = type(key_min) is type(key_max) and key_min <= key_max  # type: ignore[operator]
        if not ordered or entry.footer_length > entry.size:
            raise ValueError("its bounds are invalid")
        return entry


def tree_identity(tree: str) -> int:
    """Return the identity of an expression among the fields of its table, from its stored tree."""
    return int.from_bytes(hashlib.sha256(tree.encode()).digest()[:8], "big") >> 1


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


_PLAIN: dict[str, Any] = {
    "int": int,
    "str": str,
    "float": float,
    "dict[str, Any]": dict,
    "tuple[str, ...]": list,
}


def checked(cls: type, document: dict[str, Any], skip: set[str] | None = None) -> dict[str, Any]:
    """Return a dataclass's fields from JSON, all of them known, present and of the right type."""
    expected = {f.name: f.type for f in fields(cls) if f.name not in (skip or ())}
    if set(document) != set(expected):
        raise ValueError(f"fields {sorted(set(document) ^ set(expected))} of {cls.__name__}")
    out: dict[str, Any] = {}
    for name, value in document.items():
        kind = _PLAIN[str(expected[name])]
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise ValueError(f"{name} is {value!r}")
        if kind is int and name not in {"scale", "field_id"} and value < 0:
            raise ValueError(f"{name} is negative")
        if kind is list and not all(isinstance(item, str) for item in value):
            raise ValueError(f"{name} contains a value that is not text")
        out[name] = tuple(value) if kind is list else value
    return out
