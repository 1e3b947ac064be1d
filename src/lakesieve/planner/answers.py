"""Answers of the protocol, as documents for JSON."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from lakesieve.index import ALL_ROWS, KeepLeaf, KeepNode, Reason
from lakesieve.planner.requests import PROTOCOL

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lakesieve.index import KeepTree, RowRanges

_ROWS_END = 2**63 - 1
"""End of a range that reaches to the end of its file."""


def answer(**fields: Any) -> str:
    """Write an answer."""
    return json.dumps({"version": PROTOCOL} | fields)


def refusal(reason: Reason) -> str:
    """Write the answer to a request that is not answered: all of its scans stay as they are."""
    return answer(refusal=_coded(reason))


def unpruned(scan: int, reasons: Iterable[Reason]) -> dict[str, Any]:
    """Answer for one scan that it reads all of its files."""
    return {
        "id": scan,
        "indexes": [],
        "leading": [],
        "reasons": [_coded(reason) for reason in reasons],
        "predicate": "",
    }


def kept_files(plan: KeepTree) -> dict[str, Any]:
    """Return the part of a scan's answer that says which files it keeps."""
    return {
        "catalogues": [index.files() for index in plan.indexes],
        "keep": _tree(plan.keep, plan),
    }


def _tree(part: KeepLeaf | KeepNode, plan: KeepTree) -> dict[str, Any]:
    if isinstance(part, KeepLeaf):
        leaf = {"index": part.index, "keep": _packed(np.packbits(part.keep, bitorder="little"))}
        if part.rows is None:
            return leaf
        return leaf | _rows(part.keep, part.rows, plan.indexes[part.index].records())
    if not part.args and not part.every:
        return {"op": "none"}
    return {"op": "and" if part.every else "or", "args": [_tree(arg, plan) for arg in part.args]}


def _rows(keep: np.ndarray, rows: RowRanges, records: np.ndarray) -> dict[str, str]:
    """Write the rows to read of each kept file, none for a whole file, and how many it has."""
    listed = ~rows.is_whole
    counts = np.bincount(rows.files[listed], minlength=len(keep))[keep]
    first, end = (part[listed] for part in rows.rows)
    pairs = np.column_stack([first, np.where(end == ALL_ROWS, _ROWS_END, end)])
    return {
        "counts": _packed(counts.astype("<u4")),
        "rows": _packed(pairs.astype("<i8")),
        "records": _packed(records[keep].astype("<i8")),
    }


def _packed(values: np.ndarray) -> str:
    return base64.b64encode(values.tobytes()).decode("ascii")


def _coded(reason: Reason) -> dict[str, str]:
    return {"code": str(reason.code), "detail": reason.detail}
