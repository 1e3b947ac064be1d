"""Append only rows whose keys are not in the table yet, in one commit."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lakesieve.errors import CommitConflictError, ErrorKind, InvalidInputError
from lakesieve.index.definition import column_names
from lakesieve.index.many_keys import sorted_codes
from lakesieve.spark.build.after_write import AFTER_WRITE, refreshing_itself
from lakesieve.spark.build.source import key_types
from lakesieve.spark.commands.change import (
    ChangeRequest,
    RowChanger,
    check_keys,
    check_once,
)
from lakesieve.spark.commands.held_keys import HeldKeys
from lakesieve.spark.commands.key_lookup import FEW
from lakesieve.spark.tables.changes import NOTHING, ChangeOutcome
from lakesieve.spark.tables.reading import quoted
from lakesieve.spark.versions.cached_rows import CachedRows, cache_rows
from lakesieve.spark.versions.spark_versions import arrow_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from lakesieve.index import RowChange
    from lakesieve.tables import Column

_DUPLICATES = ("error", "first", "last")
ATTEMPTS = 20
# longest wait between two attempts, in seconds; random, so that two writers do not retry in step
_SECONDS = 2.0
_ONE_ROW = 'Keep one row of each key first, or give duplicates="first" or "last".'


def insert_new(
    rows: DataFrame | str,
    table: str,
    *,
    on: str | Sequence[str],
    spark: SparkSession,
    duplicates: str = "error",
    refresh: str | None = AFTER_WRITE,
    txn: tuple[str, int] | None = None,
    location: str | None = None,
    dry_run: bool = False,
) -> RowChange:
    """Append the rows whose keys are not in a table. Rows of existing keys stay as they are.

    The index says which data files may hold the keys, and only their key columns are read. The
    change is one commit of the table's own format, checked against commits that others made since.
    If two writers insert the same new key at once, the second one finds it.

    Iceberg guarantees this against all writers. Delta does among writers that use this function,
    and against plain appends if ``delta.isolationLevel`` is ``Serializable``. Hudi has one writer.

    Args:
        rows: All columns of the table, in any order, evaluated once. Or the path of a Parquet file,
            or of a CSV file with a header line.
        table: ``catalog.database.table``, ``delta:PATH`` or ``hudi:PATH``.
        on: The key column or columns, without nulls in ``rows``. For Hudi, the record key.
        spark: The session. Skipping is on during this call, and then as it was before.
        duplicates: What to do if ``rows`` has a key more than once: raise an ``"error"``, or keep
            the ``"first"`` or the ``"last"`` row of the key in the order of the frame.
        refresh: As for :func:`upsert`.
        txn: As for :func:`upsert`.
        location: A further root to search for indexes.
        dry_run: Change nothing. Only return how many rows are new.

    Returns:
        The result: ``keys`` were given, ``inserted`` of them were new, the others existed already.

    Raises:
        NotFoundError: The table does not exist, or ``rows`` lacks a column.
        InvalidInputError: Keys are null or not unique, or columns have other types or are unknown.
        UnsupportedError: The table cannot be changed by these keys.
        CommitConflictError: Other writers committed during each attempt.

    Examples:
        >>> known = spark.table("lake.shop.orders").where("customer = 4711")
        >>> ls.insert_new(known, "lake.shop.orders", on="id", spark=spark).inserted
        0
    """
    if duplicates not in _DUPLICATES:
        raise InvalidInputError(
            f"duplicates={duplicates!r} is not a known value.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Give 'error', 'first' or 'last'.",
        )
    request = ChangeRequest(
        operation="insert-new",
        table=table,
        on=column_names(on),
        spark=spark,
        refresh=refresh,
        txn=txn,
        location=location,
        dry_run=dry_run,
    )
    return _insert_new(rows, request, duplicates)


def _insert_new(rows: DataFrame | str, request: ChangeRequest, duplicates: str) -> RowChange:
    changer = RowChanger.prepare(rows, request)
    with refreshing_itself(changer.table, does=request.refreshes):
        with changer.under_way(changer.given) as rows_once:
            given_rows = _checked(rows_once, changer, duplicates)
            lookup = HeldKeys(changer.table, changer.columns, request.spark, request.location)
            outcome = _inserted(given_rows, changer, lookup)
            given_rows.rows.release()
        return changer.result(
            replace(outcome, updated=0, deleted=0),
            keys=given_rows.rows.count,
            files_read=None if outcome.known else lookup.files_read,
            reasons=lookup.reasons,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _GivenRows:
    """Rows with distinct keys."""

    rows: CachedRows
    keys: pa.Table | None


def _checked(rows: DataFrame, changer: RowChanger, duplicates: str) -> _GivenRows:
    """Check the keys, and keep one row of each key as the rule says."""
    on = [quoted(name) for name in changer.on]
    count = rows.count()
    keys = arrow_of(rows.select(*on)) if count <= FEW else None
    if keys is not None and _are_keys(keys, changer.columns):
        return _GivenRows(rows=CachedRows(rows=rows, count=count), keys=keys)
    # too many keys, nulls or duplicates: let Spark find out which
    check_keys(rows, changer.on)
    chosen = _one_of_each(CachedRows(rows=rows, count=count), changer.on, duplicates)
    return _GivenRows(rows=chosen, keys=None)


def _are_keys(keys: pa.Table, columns: Sequence[Column]) -> bool:
    """Return whether no key is null and no key occurs twice."""
    if any(column.null_count for column in keys.columns):
        return False
    distinct = sorted_codes(key_types(columns), keys.columns, is_prefix=False).codes
    return bool(len(distinct) == keys.num_rows)


def _one_of_each(given: CachedRows, on: Sequence[str], duplicates: str) -> CachedRows:
    """Keep one row for each key.

    ``duplicates`` says what to do if a key repeats: keep the ``first`` or the ``last`` row, or
    raise an ``error``.
    """
    from pyspark.sql import functions as F

    rows = given.rows
    if duplicates == "error":
        check_once(rows, on, _ONE_ROW)
        return given
    keys = [quoted(name) for name in on]
    place, row = "lakesieve place", "lakesieve row"
    placed = rows.select("*", F.monotonically_increasing_id().alias(place))
    best_of = F.min_by if duplicates == "first" else F.max_by
    whole = F.struct(*(quoted(name) for name in rows.columns))
    best = placed.groupBy(*keys).agg(best_of(whole, F.col(quoted(place))).alias(row))
    chosen = best.select(*(F.col(quoted(row, name)).alias(name) for name in rows.columns))
    return cache_rows(chosen, shuffled=True)


def _inserted(given: _GivenRows, changer: RowChanger, held: HeldKeys) -> ChangeOutcome:
    """Append the new rows. Try again if other writers commit rows in between."""
    request, on = changer.request, changer.on
    base = changer.table.reader.version()
    new = held.without(given.rows, on, base, known=given.keys)
    for attempt in range(ATTEMPTS):
        if request.dry_run:
            return ChangeOutcome(inserted=new.count)
        # record the transaction even if nothing is new, so that a repeated call does not insert
        # later
        if not new.count and request.txn is None:
            return NOTHING
        with held.skipping_before(base, when=changer.changes.rereads):
            outcome = changer.changes.insert(new.rows, on, request.txn, base)
        if outcome is not None:
            # Iceberg does not count the rows of an append
            is_counted = outcome.known or outcome.inserted is not None
            return outcome if is_counted else replace(outcome, inserted=new.count)
        time.sleep(random.uniform(0, min(_SECONDS, 0.05 * 2**attempt)))
        before, base = base, changer.table.reader.version()
        new = held.without(new, on, base, after=before)
    raise CommitConflictError(
        f"{request.table} got new rows from other writers during each of {ATTEMPTS} attempts.",
        kind=ErrorKind.CONFLICT,
        hint="Nothing was inserted. Try again when fewer writers commit at the same time.",
    )
