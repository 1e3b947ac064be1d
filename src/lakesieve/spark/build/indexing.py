"""Several indexes of one table from one read of its data files, each committed for itself."""

from __future__ import annotations

from dataclasses import dataclass
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

ROWS_AT_ONCE = 4_000_000_000
"""Rows of a portion, over all indexes that are built from one read."""


def build_each(
    spark: SparkSession,
    rule: InstalledRule,
    source: Source,
    targets: Sequence[Target],
    *,
    operation: str,
    commit: Callable[[Target, Changes, Source], object],
    watch: Watch,
) -> list[Exception | None]:
    """Build indexes together and commit each; what fails for one leaves the others as they are.

    More rows than :data:`ROWS_AT_ONCE` are read in portions, each with a commit of its own: a
    build moves its keys in blocks, whose number grows with the square of the rows, and one that is
    interrupted keeps the portions that are done.

    Returns:
        What each target failed with; ``None`` where all is committed.

    Raises:
        LakesieveError: The data files cannot be read as they should, which concerns all.
    """
    build = _Build(spark=spark, rule=rule, operation=operation, commit=commit, watch=watch)
    failed: list[Exception | None] = [None] * len(targets)
    watch.expect(rows=source.rows, files=source.files.num_rows)
    rows = files = 0
    for part in source.portions(ROWS_AT_ONCE // max(1, len(targets))):
        left = [at for at, error in enumerate(failed) if error is None]
        if not left:
            break
        watch.portion(before=(rows, files), portion=(part.rows, part.files.num_rows))
        outcomes = build.together(part, [targets[at] for at in left])
        for at, outcome in zip(left, outcomes, strict=True):
            failed[at] = outcome
        rows += part.rows
        files += part.files.num_rows
    return failed


@dataclass(frozen=True, slots=True, kw_only=True)
class _Build:
    """What all portions of one :func:`build_each` share."""

    spark: SparkSession
    rule: InstalledRule
    operation: str
    commit: Callable[[Target, Changes, Source], object]
    watch: Watch

    def together(self, source: Source, targets: Sequence[Target]) -> list[Exception | None]:
        """Build and commit one portion; what each target failed with."""
        try:
            built = build_segments(self.spark, self.rule, source, targets=targets, watch=self.watch)
        except Exception as error:
            if len(targets) == 1:
                return [_clear(error)]
            if _is_of_all(error):
                raise
            # one of them stopped the jobs of all: read once more for each alone
            return [self.together(source, [target])[0] for target in targets]
        self.watch.phase("commit")
        return [
            self._committed(target, made, source)
            for target, made in zip(targets, built, strict=True)
        ]

    def _committed(self, target: Target, made: Built, source: Source) -> Exception | None:
        try:
            changes = staged(made, self.operation, source.version, target=target)
            self.commit(target, changes, source)
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
