"""Conditions that are known for every row: their values alone decide."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
from tests.depth import depth
from tests.engines.tables import COLUMNS, rows
from tests.planner.conditions import drawn_condition, truth

from lakesieve.predicate import ColumnType, bind, condition_of, exact_values
from lakesieve.sieve import Code, encode_keys, unscaled

CONDITIONS = depth("EXACT_CONDITIONS", test=500, soak=20_000)
_KINDS = {
    **dict.fromkeys(("id", "small"), "integer"),
    **dict.fromkeys(("real", "single"), "float"),
    "text": "string",
    "money": "decimal",
    "day": "date",
    "moment": "timestamp",
    "plain": "timestamp_ntz",
    "data": "binary",
    "flag": "boolean",
}
_TYPES: dict[tuple[str, ...], ColumnType] = {
    (name,): ColumnType(
        field_id=number,
        kind=kind,
        scale=2 if name == "money" else 0,
        precision=38 if name == "money" else 18,
    )
    for number, (name, kind) in enumerate(_KINDS.items())
}


def _code(column: ColumnType, kind: pa.DataType, value: Any) -> Code | None:
    """Return the code of a value, as conditions have it."""
    code: Code | None = encode_keys(column.key_type, pa.array([value], kind))[0].as_py()
    return unscaled(code) if column.kind == "decimal" and isinstance(code, bytes) else code


def test_the_values_decide() -> None:
    """A row fulfils an exact condition exactly if every field has one of the listed values."""
    drawn = random.Random("exact conditions")
    exact = 0
    for _ in range(CONDITIONS):
        condition = drawn_condition(drawn)
        values = exact_values(bind(condition_of(condition), _TYPES, strict=False))
        if values is None:
            continue
        exact += 1
        columns = [(path[0], of) for path, of in _TYPES.items() if of.field_id in values]
        for row in rows(drawn, 6).to_pylist():
            inside = all(
                values[of.field_id].contains(_code(of, COLUMNS[name], row[name]))
                for name, of in columns
            )
            assert inside == (truth(condition, row) is True), (condition, row)
    assert exact > CONDITIONS / 10
