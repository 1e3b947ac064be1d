"""One format on one version of Spark, in a process of its own.

``python -m bench.formats.work FORMAT FOLDER ROWS FILES`` prints one line of JSON.
"""

from __future__ import annotations

import json
import sys
import time
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lakesieve as ls
from bench.formats.case import KINDS, Case, questions
from bench.formats.delta import Delta
from bench.formats.hudi import Hudi
from bench.formats.iceberg import Iceberg
from bench.formats.parquet import Parquet
from bench.formats.table import seconds_of
from bench.measure import in_turn
from lakesieve.spark.rule.installed import installed_rule

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from bench.formats.table import FormatTable

__all__ = ["TABLES", "measure"]

ROUNDS = 5
TABLES: dict[str, Callable[[SparkSession, Path], FormatTable]] = {
    "iceberg": lambda spark, _folder: Iceberg(spark),
    "delta": lambda spark, folder: Delta(spark, folder / "delta_main"),
    "parquet": lambda spark, folder: Parquet(spark, folder / "parquet_main"),
    "hudi": lambda spark, folder: Hudi(spark, folder / "hudi_main"),
}
_COUNTED = ("numFiles", "resultDataFiles")


class Variant:
    """One way to answer: a table, with lakesieve on or off.

    Args:
        spark: The session.
        name: What it is called.
        table: The table.
        skips: Whether lakesieve is on.
        kinds: Kinds of questions that it answers.
        facts: What it took to make it.
    """

    def __init__(
        self,
        spark: SparkSession,
        name: str,
        table: FormatTable,
        *,
        skips: bool = False,
        kinds: tuple[str, ...] = KINDS,
        facts: dict[str, Any] | None = None,
    ) -> None:
        self._spark = spark
        self.name = name
        self.table = table
        self.skips = skips
        self.kinds = kinds
        self.figures: dict[str, Any] = {"variant": name, "seconds": {}, "files": {}} | (facts or {})

    def _switch(self) -> None:
        rule = installed_rule(self._spark)
        if not self.skips:
            rule.disable()
        elif rule.planner.options is None:
            ls.enable(self._spark)
        else:
            # with other options, which those of ls.enable always are, caches start empty
            rule.enable((), rule.planner.options)

    def ask(self, condition: str, version: str | None = None) -> tuple[list[str], int]:
        """Rows, and how many files were read for them."""
        self._switch()
        frame = self.table.read(version).where(condition).select("k", "s", "amount", "day", "note")
        rows = sorted(map(repr, frame.collect()))
        if self.skips:
            # Iceberg's metrics are of its own planning, before lakesieve's
            return rows, sum(scan.files_read for scan in ls.last_pruning(self._spark))
        return rows, _files_read(frame)

    def run(self, conditions: cycle[str]) -> object:
        """Answer the next question; this is what is timed."""
        self._switch()
        rows = self.table.read().where(next(conditions))
        return rows.select("k", "s", "amount", "day", "note").collect()


def _files_read(frame: DataFrame) -> int:
    """Files of all scans that the frame's query ran, by Spark's metrics."""
    leaves = frame._jdf.queryExecution().executedPlan().collectLeaves()
    read = 0
    for at in range(leaves.size()):
        metrics = leaves.apply(at).metrics()
        for name in _COUNTED:
            if metrics.contains(name):
                read += int(metrics.apply(name).value())
    return read


def measure(spark: SparkSession, table: FormatTable, case: Case, rounds: int) -> dict[str, Any]:
    """Write a table, index it and its copies, and ask every question in every way.

    Raises:
        AssertionError: Two variants do not agree.
    """
    written = seconds_of(lambda: table.create(case))
    _say(f"written in {written:.0f} s")
    response = questions(spark, case, rounds + 1)
    variants = [Variant(spark, "off", table), _ours(spark, table)]
    for peer in table.peers(case):
        _say(f"{peer.name}: made in {peer.seconds:.1f} s, {peer.size:,} bytes")
        facts = {"built": peer.seconds, "bytes": peer.size}
        variants.append(Variant(spark, peer.name, peer.table, kinds=peer.kinds, facts=facts))
    by_kind = {kind: [variant for variant in variants if kind in variant.kinds] for kind in KINDS}
    # all of them before the first is timed, which would pay for what Java has not compiled
    for kind, chosen in by_kind.items():
        _check(kind, chosen, response[kind])
    for kind, chosen in by_kind.items():
        _time(kind, chosen, response[kind], rounds)
    if table.version() is not None:
        _travel(spark, variants, case, response)
    result = [variant.figures for variant in variants]
    return {"written": written, "rows": case.rows, "files": case.files, "variants": result}


def _ours(spark: SparkSession, table: FormatTable) -> Variant:
    facts = {}
    for column in ("k", "s"):
        start = time.perf_counter()
        index = ls.create_index(table.name, [column], spark=spark)
        facts[column] = {"built": time.perf_counter() - start, "bytes": index.info().bytes}
        _say(f"lakesieve {column}: {facts[column]}")
    more = facts["k"] | {"second": facts["s"]}
    return Variant(spark, "lakesieve", table, skips=True, facts=more)


def _check(kind: str, variants: list[Variant], conditions: Sequence[str]) -> None:
    for condition in conditions:
        _agree({variant.name: _count(variant, kind, condition) for variant in variants}, condition)


def _time(kind: str, variants: list[Variant], conditions: Sequence[str], rounds: int) -> None:
    expected = {variant.name: partial(variant.run, cycle(conditions)) for variant in variants}
    for name, seconds in in_turn(expected, rounds=rounds).items():
        figures = next(variant.figures for variant in variants if variant.name == name)
        figures["seconds"][kind] = seconds
        files = figures["files"][kind] = sum(figures["files"][kind]) / len(conditions)
        _say(f"{kind}, {name}: {1e3 * seconds:.0f} ms, {files:.1f} files")


def _count(variant: Variant, kind: str, condition: str) -> list[str]:
    rows, files = variant.ask(condition)
    variant.figures["files"].setdefault(kind, []).append(files)
    return rows


def _agree(answers: dict[str, list[str]], condition: str) -> None:
    first = next(iter(answers.values()))
    different = [name for name, rows in answers.items() if rows != first]
    if different:
        raise AssertionError(f"{condition}: {', '.join(different)} do not agree with the first")


def _travel(
    spark: SparkSession, variants: list[Variant], case: Case, options: dict[str, Any]
) -> None:
    """Add rows, delete the requested one, and query as of before and now."""
    tables = {id(variant.table): variant.table for variant in variants}
    versions = {key: str(table.version()) for key, table in tables.items()}
    point = options["point"][0]
    for number, table in enumerate(tables.values()):
        table.append(case.more(spark))
        table.delete(point)
        _say(f"changed {number + 1} of {len(tables)}")
    for at in ("then", "now"):
        answers = {}
        for variant in variants:
            version = versions[id(variant.table)] if at == "then" else None
            condition = options["second"][0] if variant.kinds == ("second",) else point
            answers[variant.name, condition], files = variant.ask(condition, version)
            variant.figures[at] = files
            _say(f"{at}, {variant.name}: {files} files")
        for condition in {condition for _, condition in answers}:
            by_variant = {name: rows for (name, c), rows in answers.items() if c == condition}
            _agree(by_variant, f"{at}: {condition}")
        if bool(answers["off", point]) == (at == "now"):
            raise AssertionError(f"{at}: the deleted row is {'' if at == 'now' else 'not '}there")


def _say(text: str) -> None:
    print(f"  {text}", file=sys.stderr, flush=True)


def main() -> None:
    """Measure what the command line names."""
    name, folder, rows, files = sys.argv[1:]
    conf = {
        "spark.master": "local[2]",
        "spark.driver.memory": "4g",
        "spark.sql.shuffle.partitions": "16",
        "spark.ui.enabled": "false",
        "spark.sql.catalogImplementation": "in-memory",
    }
    root = Path(folder)
    formats = ["iceberg"] if name == "iceberg" else [name]
    spark = ls.local_session(root / "warehouse", formats=formats, conf=conf)
    case = Case(rows=int(rows), files=int(files))
    measured = measure(spark, TABLES[name](spark, root), case, ROUNDS)
    print(json.dumps({"format": name, "spark": spark.version} | measured))
    spark.stop()


if __name__ == "__main__":
    main()
