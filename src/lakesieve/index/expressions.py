"""Expressions as keys: their trees, and the columns that they read.

An engine writes an expression as a tree for JSON, see
``docs/design/0038-keys-that-are-expressions.md``. The engine names columns by their paths. A stored
tree has their field ids instead, which renames do not change.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from lakesieve.errors import ErrorKind, UnsupportedError
from lakesieve.format import KeyColumn, KeyExpression, SourceColumn
from lakesieve.predicate import ELEMENTS, ENTRIES, WORDS, source_of_many
from lakesieve.tables import Column

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lakesieve.format import IndexDefinition, IndexKey

# operands of these may change places: expressions with the other order have the same value
_COMMUTATIVE = frozenset(
    ("Add", "Multiply", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "EqualTo", "EqualNullSafe")
)
_OWN_RULES = frozenset(("az", "lt", "tr"))
_ZONE, _ZONE_RULES = "time zone", "time zone rules"
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")


class UnknownColumnError(LookupError):
    """Raised for a tree with a column that the table lacks, or that cannot be indexed."""

    def __init__(self, path: tuple[str, ...], column: Column | None) -> None:
        super().__init__(".".join(path))
        self.column = column


def stored_tree(
    tree: Any, columns: Mapping[tuple[str, ...], Column]
) -> tuple[str, tuple[Column, ...]]:
    """Return an engine's tree in the form in which it is stored, and the columns that it reads.

    Raises:
        UnknownColumnError: A column is not in the table, or cannot be indexed.
    """
    sources: dict[int, Column] = {}
    begin = tree[0] if isinstance(tree, list) and tree else None

    def is_key(column: Column) -> bool:
        if begin == ELEMENTS:
            return column.elements != "other"
        if begin == WORDS:
            return column.kind == "string"
        if begin == ENTRIES:
            return column.entries != "other"
        # a variant is no key, but its fields can be
        return column.kind != "other" or (column.type == "variant" and not column.refusal)

    def written(node: Any) -> Any:
        if isinstance(node, list):
            return _ordered([written(part) for part in node])
        if not isinstance(node, dict):
            return node
        if "col" not in node:
            return {name: written(part) for name, part in node.items()}
        path = tuple(node["col"])
        column = columns.get(path)
        if column is None or not is_key(column):
            raise UnknownColumnError(path, column)
        sources[column.field_id] = column
        return {"field": column.field_id, "type": node["type"]}

    return _canonical(written(tree)), tuple(sources.values())


def _ordered(node: list[Any]) -> list[Any]:
    """Put the operands of a commutative expression into one order."""
    if len(node) < 4 or not isinstance(node[0], str) or node[0] not in _COMMUTATIVE:
        return node
    operands = sorted(node[2:4], key=lambda part: (_canonical(_shape(part)), _canonical(part)))
    return [*node[:2], *operands, *node[4:]]


def _canonical(node: Any) -> str:
    return json.dumps(node, sort_keys=True, separators=(",", ":"))


def _shape(node: Any) -> Any:
    """Return a tree without the values of the session."""
    if isinstance(node, list):
        return [_shape(part) for part in node]
    if isinstance(node, dict):
        return {name: name != "session" and _shape(part) for name, part in node.items()}
    return node


def _sessions(node: Any) -> Iterator[dict[str, str]]:
    """Yield the values of the session in a tree, in order."""
    if isinstance(node, list):
        for part in node:
            yield from _sessions(part)
    elif isinstance(node, dict) and isinstance(node.get("session"), dict):
        yield node["session"]
    elif isinstance(node, dict):
        for part in node.values():
            yield from _sessions(part)


def differing_session(built: str, asked: str) -> str | None:
    """Say in which values of the session two stored trees differ.

    Returns:
        The differences for people, or ``None`` if the trees differ in anything else.
    """
    try:
        first, second = json.loads(built), json.loads(asked)
        if _shape(first) != _shape(second):
            return None
        pairs = zip(_sessions(first), _sessions(second), strict=True)
        texts = [
            f"{name} {one.get(name, 'unset')} instead of {other.get(name, 'unset')}"
            for one, other in pairs
            for name in _differing(one, other)
        ]
    except (ValueError, RecursionError):
        # a stored tree is only a text until here
        return None
    return ", ".join(dict.fromkeys(texts))


def _differing(one: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    names = [n for n in dict.fromkeys((*one, *other)) if one.get(n) != other.get(n)]
    # another time zone has other rules
    return [name for name in names if name != _ZONE_RULES or _ZONE not in names]


def source_of_lower_case(tree: str) -> int | None:
    """Return the field id of ``column`` if a stored expression is ``lower(column)``.

    Return ``None`` for other expressions, and for languages with own rules for ASCII letters: in
    Turkish, the lower case of I is no i.
    """
    try:
        document = json.loads(tree)
    except (ValueError, RecursionError):
        return None
    match document:
        case [_, ["Lower", "string", {"field": int(field)}, {"session": {"letter case": str(by)}}]]:
            is_known = by.startswith(("ICU ", "Java ")) and by.split()[-1] not in _OWN_RULES
            return field if is_known else None
    return None


def key_expression(
    sql: str, tree: str, sources: tuple[Column, ...], described: Sequence[Mapping[str, Any]]
) -> tuple[Column, ...]:
    """Return an expression as key columns: key and value of the entries of a map, or one column.

    Args:
        sql: Its text.
        tree: Its stored tree.
        sources: The columns that it reads.
        described: ``type``, ``kind`` and ``scale`` of each column.
    """
    columns = tuple(
        SourceColumn(field_id=each.field_id, name=".".join(each.path), type=each.type)
        for each in sources
    )
    expression = KeyExpression(sql=sql, tree=tree, columns=columns)
    names = [sql]
    if len(described) > 1:
        _, source = source_of_many(sql) or ("", sql)
        names = [f"map_keys({source})", f"map_values({source})"]
    keys = (
        KeyColumn(
            field_id=field_id,
            name=name,
            type=part["type"],
            key_kind=part["kind"],
            scale=part["scale"],
        )
        for field_id, name, part in zip(expression.field_ids, names, described, strict=True)
    )
    return tuple(_column(key, expression, sources) for key in keys)


def _column(key: KeyColumn, expression: KeyExpression, sources: tuple[Column, ...]) -> Column:
    return Column(
        path=(key.name,),
        field_id=key.field_id,
        type=key.type,
        kind=key.key_kind,
        scale=key.scale,
        precision=precision_of(key),
        expression=expression,
        sources=sources,
    )


def precision_of(key: KeyColumn) -> int:
    """Return the digits of a decimal expression; the default of columns for other types."""
    found = _DECIMAL.fullmatch(key.type)
    return int(found[1]) if found else 18


def changed_source(expression: KeyExpression, types: Mapping[int, str]) -> str | None:
    """Say which column of an expression is missing or has another type, if any.

    Args:
        expression: The expression.
        types: The types of the columns that are read now, by field id.
    """
    for source in expression.columns:
        now = types.get(source.field_id)
        if now is None:
            return f"the column {source.name}, which {expression.sql} reads, is gone or replaced"
        if now != source.type:
            was = f"{source.name} of type {source.type}"
            return f"{expression.sql} was built on {was}, read now as {now}"
    return None


def expression_columns(
    key: IndexKey, columns: Mapping[int, Column], *, index: str
) -> tuple[Column, ...]:
    """Return the columns of a key that is an expression, as a version of the table has its columns.

    Args:
        key: The key.
        columns: The columns of the table, by field id.
        index: The name of the index, for the error.

    Raises:
        UnsupportedError: A column of the expression was dropped or has another type.
    """
    expression = key.expression
    assert expression is not None
    change = changed_source(expression, {field: c.type for field, c in columns.items()})
    if change is not None:
        raise UnsupportedError(
            f"The index {index} cannot be used: {change}.",
            kind=ErrorKind.UNSUPPORTED_TYPE,
            hint="Drop the index, and create it again.",
        )
    sources = tuple(columns[source.field_id] for source in expression.columns)
    return tuple(_column(column, expression, sources) for column in key.columns)


def refuse_many_keys(definition: IndexDefinition, what: str) -> None:
    """Refuse what an index cannot do if a row may have many keys.

    Raises:
        UnsupportedError: The keys are elements, entries or words.
    """
    many = definition.key_of_many
    if many is not None:
        raise UnsupportedError(
            f"The keys of the index {definition.name} are {many.name}, of which a row may have "
            f"many; {what} takes an index with one key for each row.",
            kind=ErrorKind.UNSUPPORTED_TYPE,
            hint="Ask Spark.",
        )


def refuse_expressions(definition: IndexDefinition, what: str) -> None:
    """Refuse what an index on expressions cannot do.

    Raises:
        UnsupportedError: A key is an expression.
    """
    if definition.expressions:
        raise UnsupportedError(
            f"A key of the index {definition.name} is the expression "
            f"{definition.expressions[0].sql}; {what} takes an index on columns.",
            kind=ErrorKind.UNSUPPORTED_TYPE,
            hint="Use an index on columns, or a query on Spark with the expression.",
        )
