"""What listings and headers tell of an object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectInfo:
    """An object as a listing tells it."""

    path: str
    size: int
    version: str  # A text that changes when it is rewritten
    modified: datetime  # when it was written


def object_info(meta: Any) -> ObjectInfo:
    """Return what a store's metadata of an object says."""
    return ObjectInfo(
        path=str(meta["path"]),
        size=int(meta["size"]),
        version=str(meta["e_tag"] or meta["last_modified"]),
        modified=meta["last_modified"],
    )
