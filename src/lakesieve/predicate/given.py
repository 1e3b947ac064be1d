"""Read a user's predicate: SQL text, or an expression of another library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lakesieve.errors import ErrorKind, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakesieve.predicate.expression import Expr


def expression_of(predicate: str | Any, schema: Callable[[], pa.Schema]) -> Expr:
    """Read a predicate in any of the supported forms."""
    # A library is slow to import, so its reader is imported only for one of its own expressions.
    if isinstance(predicate, str):
        from lakesieve.predicate.parse import parse_sql

        return parse_sql(predicate)
    library = type(predicate).__module__.partition(".")[0]
    if library not in {"pyarrow", "polars", "pyiceberg"}:
        raise InvalidInputError(
            f"A {type(predicate).__name__} is not a predicate.",
            kind=ErrorKind.INVALID_PREDICATE,
            hint="Give SQL text, or an expression of PyIceberg, Polars or Arrow.",
        )
    try:
        return _READERS[library](predicate, schema())
    except Exception as error:
        raise InvalidInputError(
            f"{predicate} does not fit the columns of the table: {error}",
            kind=ErrorKind.INVALID_PREDICATE,
            hint="Use names of its columns, and compare them with values of their own types.",
        ) from error


def _from_arrow(predicate: Any, schema: pa.Schema) -> Expr:
    from lakesieve.predicate.arrow import from_arrow

    # Arrow cannot compare UUIDs, but it can compare their text
    texts = [field.with_type(pa.string()) if field.type == pa.uuid() else field for field in schema]
    schema = pa.schema(texts)
    # Arrow raises here if it cannot apply the filter. A filter without a Substrait form is unknown.
    schema.empty_table().filter(predicate)
    return from_arrow(predicate, schema)[0]


def _from_polars(predicate: Any, schema: pa.Schema) -> Expr:
    from lakesieve.predicate.polars import from_polars, pushed

    return from_polars(pushed(predicate, schema), schema)


def _from_pyiceberg(predicate: Any, schema: pa.Schema) -> Expr:
    from lakesieve.predicate.pyiceberg import bound, from_pyiceberg

    return from_pyiceberg(*bound(predicate, schema))


_READERS = {"pyarrow": _from_arrow, "polars": _from_polars, "pyiceberg": _from_pyiceberg}
