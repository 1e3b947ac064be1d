"""Conditions on expressions, and the indexes whose keys are these expressions."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from lakesieve.index.expressions import (
    UnknownColumnError,
    differing_session,
    precision_of,
    stored_tree,
)
from lakesieve.index.reasons import Reason, ReasonCode
from lakesieve.predicate import ColumnType
from lakesieve.predicate.expression import And, Not, OnElements, OnExpression, Or

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lakesieve.index.key_filters import UsableIndex
    from lakesieve.predicate import Expr
    from lakesieve.tables import Column


@dataclass(frozen=True, slots=True, kw_only=True)
class Expressions:
    """The expressions of a condition that are keys of indexes.

    Args:
        types: Their types, by the trees of the condition.
        by_text: The types of all expressions that are keys of indexes, by their SQL text.
        reasons: Why other indexes on an expression of the condition are not used.
    """

    types: Mapping[str, ColumnType]
    by_text: Mapping[str, ColumnType]
    reasons: tuple[Reason, ...]

    @classmethod
    def of(
        cls,
        condition: Expr,
        indexes: Sequence[UsableIndex],
        columns: Mapping[tuple[str, ...], Column],
    ) -> Self:
        """Find the expressions of a condition among the keys of indexes."""
        keys = {
            definition.expression.tree: (definition.name, definition.columns[0])
            for definition in (usable.index.definition for usable in indexes)
            if definition.expression is not None
        }
        known = {
            tree: ColumnType(
                field_id=key.field_id,
                kind=key.key_kind,
                scale=key.scale,
                precision=precision_of(key),
            )
            for tree, (_, key) in keys.items()
        }
        types: dict[str, ColumnType] = {}
        reasons: dict[Reason, None] = {}
        # without such an index, no tree need be read
        for asked in _trees(condition) if keys else ():
            try:
                tree, _ = stored_tree(json.loads(asked), columns)
            except UnknownColumnError:
                continue
            if tree in known:
                types[asked] = known[tree]
                continue
            for built, (name, key) in keys.items():
                difference = differing_session(built, tree)
                if difference is not None:
                    detail = f"{name} on {key.name} was built with {difference}"
                    reasons[Reason(code=ReasonCode.SESSION_DIFFERS, detail=detail)] = None
        by_text = {key.name: known[tree] for tree, (_, key) in keys.items()}
        return cls(types=types, by_text=by_text, reasons=tuple(reasons))


def _trees(condition: Expr) -> Iterator[str]:
    """Yield the trees of the expressions in a condition."""
    match condition:
        case And() | Or():
            for arg in condition.args:
                yield from _trees(arg)
        case Not():
            yield from _trees(condition.arg)
        case OnElements() | OnExpression():
            yield condition.tree
