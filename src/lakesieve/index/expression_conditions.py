"""Conditions on expressions, and the indexes whose keys are these expressions."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from lakesieve.format import WORDS_KIND, tree_identity
from lakesieve.index.expressions import (
    UnknownColumnError,
    differing_session,
    precision_of,
    source_of_lower_case,
    stored_tree,
)
from lakesieve.index.key_filters import EntryKey
from lakesieve.index.reasons import Reason, ReasonCode
from lakesieve.predicate import ColumnType, bind, literal_sql, source_of_many
from lakesieve.predicate.expression import And, Not, OnElements, OnExpression, OnText, Or
from lakesieve.predicate.literals import code_of
from lakesieve.sieve import component_code

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lakesieve.format import IndexKey, KeyColumn
    from lakesieve.index.key_filters import UsableIndex
    from lakesieve.predicate import AskedKey, Expr
    from lakesieve.predicate.bind import BoundExpr
    from lakesieve.predicate.expression import Literal
    from lakesieve.tables import Column


@dataclass(frozen=True, slots=True, kw_only=True)
class Expressions:
    """The expressions of a condition that are keys of indexes.

    Args:
        types: Their types, as the condition has them.
        by_text: The types of all expressions that are keys of indexes, by their SQL text, and of
            the values of entries in the condition.
        entries: For each value of an entry by its field id, the part of the index's keys that
            stands for the key of the entry.
        words: The field ids of words that are keys, by the field ids of their texts.
        lower_cases: The texts in lower case that are keys, by the field ids of the texts.
        reasons: Why other indexes on an expression of the condition are not used.
    """

    types: Mapping[AskedKey, ColumnType]
    by_text: Mapping[str, ColumnType]
    entries: Mapping[int, EntryKey]
    words: Mapping[int, int]
    lower_cases: Mapping[int, ColumnType]
    reasons: tuple[Reason, ...]

    @classmethod
    def of(
        cls,
        condition: Expr,
        indexes: Sequence[UsableIndex],
        columns: Mapping[tuple[str, ...], Column],
    ) -> Self:
        """Find the expressions of a condition among the keys of indexes."""
        named = {
            key.expression.tree: (usable.index.definition.name, key)
            for usable in indexes
            for key in usable.index.definition.keys
            if key.expression is not None
        }
        keys = {tree: key for tree, (_, key) in named.items()}
        known = {tree: _type_of_key(key) for tree, key in keys.items()}
        types: dict[AskedKey, ColumnType] = {}
        by_text = {key.columns[0].name: known[tree] for tree, key in keys.items()}
        entries: dict[int, EntryKey] = {}
        reasons: dict[Reason, None] = {}
        # without such an index, no tree need be read
        for asked in _asked(condition) if keys else ():
            tree, entry = asked
            try:
                stored, _ = stored_tree(_with_type(json.loads(tree), keys, columns), columns)
            except UnknownColumnError:
                continue
            if stored not in known:
                reasons |= dict.fromkeys(_differing(named, stored))
            elif entry is None:
                types[asked] = known[stored]
            else:
                found = _entry(keys[stored], entry)
                if found is not None:
                    text, types[asked], key = found
                    by_text[text] = types[asked]
                    entries[types[asked].field_id] = key
        words = {
            expression.columns[0].field_id: expression.field_id
            for expression in (key.expression for key in keys.values())
            if expression is not None and expression.kind == WORDS_KIND
        }
        lower_cases = {
            source: known[tree]
            for tree in keys
            if (source := source_of_lower_case(tree)) is not None
        }
        return cls(
            types=types,
            by_text=by_text,
            entries=entries,
            words=words,
            lower_cases=lower_cases,
            reasons=tuple(reasons),
        )

    def bind(
        self,
        condition: Expr,
        columns: Mapping[tuple[str, ...], ColumnType],
        *,
        timezone: str,
        strict: bool,
    ) -> BoundExpr:
        """Bind a condition to the columns of a table and to these expressions."""
        return bind(
            condition,
            columns,
            timezone=timezone,
            strict=strict,
            expressions=self.types,
            words=self.words,
            lower_cases=self.lower_cases,
        )


def _with_type(
    tree: Any, keys: Mapping[str, IndexKey], columns: Mapping[tuple[str, ...], Column]
) -> Any:
    """Give the column of a tree that SQL text made the type that it has in an index.

    An index is used only if the column still has this type.
    """
    source = tree[1] if len(tree) > 1 and isinstance(tree[1], dict) else {}
    if source.get("type", "") is not None:
        return tree
    column = columns.get(tuple(source["col"]))
    for expression in (key.expression for key in keys.values()):
        if expression is None or not expression.has_many or column is None:
            continue
        begin, stored = json.loads(expression.tree)
        if begin == tree[0] and stored["field"] == column.field_id:
            return [begin, source | {"type": stored["type"]}]
    return tree


def _type_of_key(key: IndexKey) -> ColumnType:
    """Return the type of a key, for entries with the type of their values."""
    first, *value = map(_type, key.columns)
    return replace(first, entry_value=value[0]) if value else first


def _type(column: KeyColumn) -> ColumnType:
    return ColumnType(
        field_id=column.field_id,
        kind=column.key_kind,
        scale=column.scale,
        precision=precision_of(column),
    )


def _entry(entries: IndexKey, entry: Literal) -> tuple[str, ColumnType, EntryKey] | None:
    """Return the value of an entry of a map, as a column that no other entry has.

    Returns:
        Its text, its type, and how the index's keys begin for this entry. ``None`` if the map of
        the index cannot have this key.
    """
    expression = entries.expression
    assert expression is not None
    key, value = entries.columns
    key_type = _type(key)
    # the time zone of a text that Spark would convert is not known here
    is_text = entry.kind == "text" and key.key_kind != "string"
    bound = None if is_text else code_of(entry, key_type.key_type, "UTC")
    if bound is None or not bound.exact:
        return None
    component = component_code(key.key_kind, bound.code)
    tree = f"{expression.tree} {component.hex()}"
    _, source = source_of_many(expression.sql) or ("", expression.sql)
    return (
        f"{source}[{literal_sql(bound.code, key_type)}]",
        replace(_type(value), field_id=tree_identity(tree)),
        EntryKey(field_id=key.field_id, component=component),
    )


def _differing(keys: Mapping[str, tuple[str, IndexKey]], tree: str) -> Iterator[Reason]:
    """Yield a reason for each index whose key has the same expression in another session."""
    for built, (index, key) in keys.items():
        difference = differing_session(built, tree)
        if difference is not None:
            detail = f"{index} on {key.name} was built with {difference}"
            yield Reason(code=ReasonCode.SESSION_DIFFERS, detail=detail)


def _asked(condition: Expr) -> Iterator[AskedKey]:
    """Yield the keys that a condition asks for, with the columns of the condition."""
    match condition:
        case And() | Or():
            for arg in condition.args:
                yield from _asked(arg)
        case Not():
            yield from _asked(condition.arg)
        case OnText():
            yield from _asked(condition.otherwise)
        case OnElements():
            yield condition.tree, None
        case OnExpression():
            yield condition.tree, condition.entry
