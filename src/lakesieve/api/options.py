"""Options that methods pass on to functions, which document them and have the defaults."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lakesieve.index.result import BuildProgress
    from lakesieve.spark.deletes.result import ConversionProgress


class FindOptions(TypedDict, total=False):
    """Options of :func:`lakesieve.find_files`."""

    version: str | int | None
    order_by: str | None
    limit: int | None


class IndexOptions(TypedDict, total=False):
    """Options of :func:`lakesieve.create_index`."""

    budget: str | None
    absent_hits: float
    compaction: str
    rows_per_block: int | str | None
    replace: bool
    progress: Callable[[BuildProgress], None] | None


class TradeOffOptions(TypedDict, total=False):
    """Options of :func:`lakesieve.trade_offs`."""

    rows_per_block: int | str | None
    progress: Callable[[BuildProgress], None] | None


class RefreshOptions(TypedDict, total=False):
    """Options of :func:`lakesieve.refresh_indexes`."""

    all_refs: bool
    dry_run: bool
    progress: Callable[[BuildProgress], None] | None


class ChangeOptions(TypedDict, total=False):
    """Options of :func:`lakesieve.upsert` and :func:`lakesieve.delete`."""

    refresh: str | None
    txn: tuple[str, int] | None
    dry_run: bool


class InsertOptions(ChangeOptions, total=False):
    """Options of :func:`lakesieve.insert_new`."""

    duplicates: str


class AdviceOptions(TypedDict, total=False):
    """Options of :func:`lakesieve.advise`."""

    event_logs: Iterable[str]
    queries: Iterable[str]
    sample: int
    check: bool
    min_saved: float
    max_payback: float
    progress: Callable[[BuildProgress], None] | None


class ConvertOptions(TypedDict, total=False):
    """Options of :func:`lakesieve.deletes.convert`."""

    branch: str | None
    dry_run: bool
    partial_progress: bool
    attempts: int
    progress: Callable[[ConversionProgress], None] | None


def spell_out_options(*classes: type) -> None:
    """Show the options of methods one by one, to ``help`` and to completion in a notebook."""
    for method in (method for owner in classes for method in vars(owner).values()):
        if not inspect.isfunction(method) or "options" not in inspect.signature(method).parameters:
            continue
        signature = inspect.signature(method)
        *own, options = signature.parameters.values()
        kind = globals()[str(options.annotation).removeprefix("Unpack[").removesuffix("]")]
        named = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=...)
            for name in kind.__annotations__
        ]
        method.__signature__ = signature.replace(parameters=[*own, *named])  # type: ignore[attr-defined]
