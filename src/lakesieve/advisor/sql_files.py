"""Read files of SQL statements: their conditions and joins on tables, from Spark's own plans."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakesieve.advisor.table_scans import scans_of
from lakesieve.advisor.uses import JoinedColumn, TableUse, UsesRead
from lakesieve.errors import ErrorKind, InvalidInputError
from lakesieve.predicate.statements import changed_rows, split_statements
from lakesieve.spark.versions.messages import without_traces
from lakesieve.tables.formats import FORMATS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import SparkSession

    from lakesieve.advisor.table_scans import KnownTable
    from lakesieve.predicate.statements import ChangedRows

_UNSHORTENED = {
    "spark.sql.debug.maxToStringFields": "100000",
    "spark.sql.maxMetadataValueLength": "1000000",
    # the plan is printed, not run
    "spark.sql.adaptive.enabled": "false",
}
_MAX_PROBLEMS = 20


def statements_of(path: str) -> list[str]:
    """Return the statements of a file."""
    try:
        return split_statements(Path(path).read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(
            f"The file of queries {path} cannot be read: {type(error).__name__}.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Write SQL statements that end in semicolons.",
        ) from error


def read_statements(
    spark: SparkSession, paths: Iterable[str], tables: Sequence[KnownTable]
) -> UsesRead:
    """Plan the statements of files, without running any."""
    uses: list[TableUse] = []
    problems: list[str] = []
    queries = 0
    with _unshortened(spark):
        for path in paths:
            for number, statement in enumerate(statements_of(path), 1):
                queries += 1
                try:
                    uses += _of_statement(spark, statement, tables)
                except Exception as error:  # noqa: BLE001 - Spark's own, of many kinds
                    if len(problems) < _MAX_PROBLEMS:
                        first = str(error).strip().partition("\n")[0][:160]
                        problems.append(f"{path}: statement {number}: {first}")
    return UsesRead(uses=tuple(uses), queries=queries, days=1.0, problems=tuple(problems))


@contextmanager
def _unshortened(spark: SparkSession) -> Iterator[None]:
    """Make Spark print plans without shortening them."""
    before = {name: spark.conf.get(name, None) for name in _UNSHORTENED}
    for name, value in _UNSHORTENED.items():
        spark.conf.set(name, value)
    try:
        # a failure to plan is reported in a line of our own
        with without_traces():
            yield
    finally:
        for name, was in before.items():
            if was is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, was)


def _of_statement(
    spark: SparkSession, statement: str, tables: Sequence[KnownTable]
) -> list[TableUse]:
    changed = changed_rows(statement)
    if changed is not None:
        return _of_change(changed, tables)
    session: Any = spark._jsparkSession.sessionState()
    jvm: Any = spark._jvm
    # a command is only planned, not run
    skip = getattr(jvm.org.apache.spark.sql.execution, "CommandExecutionMode$")
    mode = getattr(skip, "MODULE$").SKIP()
    plan = session.executePlan(session.sqlParser().parsePlan(statement), mode).executedPlan()
    info = jvm.org.apache.spark.sql.execution.SparkPlanInfo
    return [
        TableUse(
            table=scan.table,
            condition=scan.condition,
            joined=tuple(JoinedColumn(column=column, rows=None) for column, _ in scan.joined),
            text=" AND ".join(scan.text),
        )
        for scan in scans_of(_document(info.fromSparkPlan(plan)), tables)
        if not scan.rewrites
    ]


def _document(info: Any) -> dict[str, Any]:
    """Return a plan in the form of event logs."""
    metadata = info.metadata()
    location = metadata.get("Location")
    partitions = metadata.get("PartitionFilters")
    children = info.children()
    return {
        "nodeName": info.nodeName(),
        "simpleString": info.simpleString(),
        "metadata": {
            "Location": location.get() if location.isDefined() else "",
            "PartitionFilters": partitions.get() if partitions.isDefined() else "[]",
        },
        "children": [_document(children.apply(at)) for at in range(children.size())],
    }


def _of_change(changed: ChangedRows, tables: Sequence[KnownTable]) -> list[TableUse]:
    """Return how a DELETE, UPDATE or MERGE uses its table."""
    called, location = ".".join(changed.table), ""
    if len(changed.table) == 2 and changed.table[0].lower() in FORMATS:
        called, location = "", changed.table[1]
    numbers = [at for at, table in enumerate(tables) if table.is_called(called, location)]
    if not numbers:
        return []
    paths_by_name = {".".join(path).lower(): path for path in tables[numbers[0]].kinds}
    paths = [paths_by_name.get(".".join(path).lower()) for path in changed.compared]
    return [
        TableUse(
            table=numbers[0],
            condition=changed.condition,
            joined=tuple(JoinedColumn(column=path, rows=None) for path in paths if path),
            text=changed.text,
        )
    ]
