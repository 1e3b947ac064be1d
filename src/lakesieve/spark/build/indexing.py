"""Add data files to several indexes of one table: one read, and a commit for each index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakesieve.errors import ErrorKind, LakesieveError
from lakesieve.spark.build.progress import Watch
from lakesieve.spark.build.segments import build_segments
from lakesieve.spark.rule.installed import installed_rule
from lakesieve.spark.tables.failures import explained

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import SparkSession

    from lakesieve.index import BuildProgress
    from lakesieve.spark.build.segments import WrittenSegments
    from lakesieve.spark.build.source import IndexBuild, Source

ROWS_AT_ONCE = 4_000_000_000
"""Most rows of a portion, over all indexes that are built from one read."""


def add_files(
    spark: SparkSession,
    source: Source,
    builds: Sequence[IndexBuild],
    *,
    operation: str,
    description: str,
    progress: Callable[[BuildProgress], None] | None = None,
) -> None:
    """Add data files to several indexes from one read of the files, and commit each index.

    A failure of one index becomes the ``error`` of its build, and the others continue. A failure
    that concerns all, such as an unreadable data file, becomes the error of each build.
    """
    with Watch(spark, progress, description) as watch:
        try:
            counted = source.counted(installed_rule(spark))
            _add_portions(spark, counted, builds, operation, watch)
        except Exception as error:  # noqa: BLE001 - it is the outcome of these indexes
            clear = _clear(error)
            for build in builds:
                build.error = build.error or clear
        watch.has_failed = all(build.error for build in builds)


def _add_portions(
    spark: SparkSession,
    source: Source,
    builds: Sequence[IndexBuild],
    operation: str,
    watch: Watch,
) -> None:
    """Read the data files in portions, and commit each index after each portion.

    A build shuffles its keys in blocks, whose number grows with the square of the rows. Therefore a
    large number of rows is read in portions. An interrupted build keeps its finished portions.
    """
    watch.expect(rows=source.rows, files=source.files.num_rows)
    rows = files = 0
    for part in source.portions(ROWS_AT_ONCE // len(builds)):
        remaining = [build for build in builds if build.error is None]
        if not remaining:
            return
        watch.portion(before=(rows, files), portion=(part.rows, part.files.num_rows))
        written = _written(spark, part, remaining, watch)
        watch.phase("commit")
        for build, segments in zip(remaining, written, strict=True):
            if isinstance(segments, Exception):
                build.error = segments
            else:
                _commit(build, segments, part, operation, watch)
        rows += part.rows
        files += part.files.num_rows


def _written(
    spark: SparkSession, part: Source, builds: Sequence[IndexBuild], watch: Watch
) -> Sequence[WrittenSegments | Exception]:
    """Write the segments of each index. Return an error for each index that failed alone."""
    try:
        return build_segments(spark, part, builds, watch)
    except Exception as error:
        if len(builds) == 1 or _concerns_all(error):
            raise
    # one index stopped the jobs of all of them: read the files again for each index separately
    outcomes: list[WrittenSegments | Exception] = []
    for build in builds:
        try:
            outcomes += build_segments(spark, part, [build], watch)
        except Exception as error:  # noqa: BLE001 - it is the outcome of this index alone
            outcomes.append(_clear(error))
    return outcomes


def _commit(
    build: IndexBuild, segments: WrittenSegments, part: Source, operation: str, watch: Watch
) -> None:
    try:
        changes = segments.changes(build.store.storage, build.definition, part.version, operation)
        watch.check()
        build.commit(changes, part)
    except Exception as error:  # noqa: BLE001 - it is the outcome of this index alone
        build.error = error


def _clear(error: Exception) -> Exception:
    """Return an error that a user understands, with Spark's own error as its cause."""
    clear = explained(error)
    if clear is None:
        return error
    clear.__cause__ = error
    return clear


def _concerns_all(error: Exception) -> bool:
    """Return whether the data files or the executors failed, not one index."""
    if isinstance(error, LakesieveError):
        return error.kind is ErrorKind.BUILD_INCONSISTENT
    return explained(error) is not None


def failure(errors: Mapping[str, Exception | None]) -> Exception | None:
    """Return one error that names all failed indexes, or ``None`` if none failed.

    If all indexes failed with one error, it is returned unchanged.
    """
    failed = {name: error for name, error in errors.items() if error is not None}
    if not failed:
        return None
    name, first = next(iter(failed.items()))
    rest = [name for name in errors if name not in failed]
    if not rest and all(error is first for error in failed.values()):
        return first
    named = f"The index {name} failed" if len(failed) == 1 else f"{_named(failed)} failed, {name}"
    finished = f"{_named(rest)} {'is' if len(rest) == 1 else 'are'} complete." if rest else ""
    clear = explained(first) or first
    if isinstance(clear, LakesieveError):
        kind, message, hint = type(clear), clear.message, clear.hint
        return kind(f"{named}: {message}", kind=clear.kind, hint=f"{hint} {finished}".strip())
    last = str(first).strip().splitlines()[-1:] or [""]
    return LakesieveError(
        f"{named}: {type(first).__name__}: {last[0].strip()}",
        kind=ErrorKind.BUILD_FAILED,
        hint=finished,
    )


def _named(names: Sequence[str] | Mapping[str, object]) -> str:
    return f"The {'index' if len(names) == 1 else 'indexes'} {', '.join(names)}"
