"""Several indexes of one table from one read of its data files, each committed for itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakesieve.errors import ErrorKind, LakesieveError
from lakesieve.spark.build.segments import build_segments, staged
from lakesieve.spark.tables.failures import explained

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import SparkSession

    from lakesieve.spark.build.progress import Watch
    from lakesieve.spark.build.segments import Built
    from lakesieve.spark.build.source import Source, Target
    from lakesieve.spark.rule.installed import InstalledRule
    from lakesieve.store import Changes

__all__ = ["build_each", "failure"]


def build_each(
    spark: SparkSession,
    rule: InstalledRule,
    source: Source,
    targets: Sequence[Target],
    *,
    operation: str,
    commit: Callable[[Target, Changes], object],
    watch: Watch,
) -> list[Exception | None]:
    """Build indexes together and commit each; what fails for one leaves the others as they are.

    Args:
        spark: The session.
        rule: The session's rule.
        source: The files and the columns of all targets, counted.
        targets: The indexes.
        operation: What their commits are called.
        commit: Makes the commit of one.
        watch: Told of the progress.

    Returns:
        What each target failed with; ``None`` where it is committed.

    Raises:
        LakesieveError: The data files cannot be read as they should, which concerns all.
    """
    try:
        built = build_segments(spark, rule, source, targets=targets, watch=watch)
    except Exception as error:
        if len(targets) == 1:
            return [_clear(error)]
        if _is_of_all(error):
            raise
        # one of them stopped the jobs of all: read once more for each alone
        outcomes = []
        for target in targets:
            outcomes += build_each(
                spark, rule, source, [target], operation=operation, commit=commit, watch=watch
            )
        return outcomes
    watch.phase("commit")
    return [
        _committed(target, made, operation, source, commit)
        for target, made in zip(targets, built, strict=True)
    ]


def _committed(
    target: Target,
    made: Built,
    operation: str,
    source: Source,
    commit: Callable[[Target, Changes], object],
) -> Exception | None:
    try:
        commit(target, staged(made, operation, source.version, target=target))
    except Exception as error:  # noqa: BLE001 - it is the outcome of this index alone
        return error
    return None


def _clear(error: Exception) -> Exception:
    """The error that a user understands, caused by Spark's own."""
    clear = explained(error)
    if clear is None:
        return error
    clear.__cause__ = error
    return clear


def _is_of_all(error: Exception) -> bool:
    """Whether a build ended in what the data files or the executors are, not one index."""
    if isinstance(error, LakesieveError):
        return error.kind is ErrorKind.BUILD_INCONSISTENT
    return explained(error) is not None


def failure(outcomes: Mapping[str, Exception | None]) -> Exception | None:
    """The one error for all that failed among several indexes, which names them.

    Args:
        outcomes: What each index failed with, by name.

    Returns:
        ``None`` if all are done; of one index alone its error as it is.
    """
    failed = {name: error for name, error in outcomes.items() if error is not None}
    if not failed:
        return None
    name, first = next(iter(failed.items()))
    if len(outcomes) == 1:
        return first
    named = f"The index {name} failed" if len(failed) == 1 else f"{_named(failed)} failed, {name}"
    rest = [name for name in outcomes if name not in failed]
    done = f"{_named(rest)} {'is' if len(rest) == 1 else 'are'} done." if rest else ""
    clear = explained(first) or first
    if isinstance(clear, LakesieveError):
        kind, message, hint = type(clear), clear.message, clear.hint
        return kind(f"{named}: {message}", kind=clear.kind, hint=f"{hint} {done}".strip())
    last = str(first).strip().splitlines()[-1:] or [""]
    return LakesieveError(
        f"{named}: {type(first).__name__}: {last[0].strip()}",
        kind=ErrorKind.BUILD_FAILED,
        hint=done,
    )


def _named(names: Sequence[str] | Mapping[str, object]) -> str:
    return f"The {'index' if len(names) == 1 else 'indexes'} {', '.join(names)}"
