"""Answers of the protocol, as documents for JSON."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from lakesieve.index import KeepLeaf, KeepNode, Reason
from lakesieve.planner.requests import PROTOCOL

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lakesieve.index import KeepTree


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
        "keep": _tree(plan.keep),
    }


def _tree(part: KeepLeaf | KeepNode) -> dict[str, Any]:
    if isinstance(part, KeepLeaf):
        bits = np.packbits(part.keep, bitorder="little").tobytes()
        return {"index": part.index, "keep": base64.b64encode(bits).decode("ascii")}
    if not part.args and not part.every:
        return {"op": "none"}
    return {"op": "and" if part.every else "or", "args": [_tree(arg) for arg in part.args]}


def _coded(reason: Reason) -> dict[str, str]:
    return {"code": str(reason.code), "detail": reason.detail}
