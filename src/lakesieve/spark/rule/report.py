"""Convert the rule's report to result models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakesieve.index import Reason, ReasonCode, ShownList, TablePruning

if TYPE_CHECKING:
    from collections.abc import Mapping


_ROWS = ("rows_total", "rows_read")


def pruning_rows(report: list[dict[str, Any]]) -> ShownList[TablePruning]:
    """Convert the rule's report to result models."""
    return ShownList(
        TablePruning(
            **row
            | {
                "indexes": tuple(row["indexes"]),
                "reasons": tuple(map(_reason, row["reasons"])),
                # the rule says -1 where it does not know how many rows there are
                **{name: None for name in _ROWS if row.get(name, -1) < 0},
            }
        )
        for row in report
    )


def _reason(row: Mapping[str, str]) -> Reason:
    code, detail = row["code"], row["detail"]
    # the server may be of a later version
    if code not in set(ReasonCode):
        return Reason(code=ReasonCode.INTERNAL_ERROR, detail=f"{code}: {detail}")
    return Reason(code=ReasonCode(code), detail=detail)
