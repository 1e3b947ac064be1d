"""What is measured of one table, and what is held of it."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import lakesieve as ls
from bench.commands.table import ROW, Facts, Kind, Target, build, build_part, keys_where
from bench.measure import Measured, in_turn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

__all__ = ["run"]

MODES = ("native", "skipping")
# the format's own command on a table of just the files that are needed: no skipping brings more
ALONE = "only those files"
_UPSERT = "ON t.k = s.k WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
GIGABYTE = 1 << 30
_PATIENCE = 3600.0


def run(
    spark: SparkSession, root: Path, kind: Kind, facts: Facts, limit: float
) -> Iterator[Measured]:
    """Measure one kind of table.

    Args:
        spark: The session.
        root: Where the session's warehouse is.
        kind: The kind of table.
        facts: How large everything is.
        limit: Seconds that PyIceberg has.
    """
    suite = _Suite(spark, build(spark, root, kind, facts), facts)
    yield from suite.joins()
    yield _located(root, suite.table, kind, facts)
    one = build_part(spark, root, kind, facts, called="one_file", files=1)
    yield suite.command("DELETE of 1 key", suite.delete_one, one, kind.faster)
    yield suite.command("UPDATE of 1 key", suite.update_one, one, kind.faster)
    parts = [one]
    if kind.format != "hudi":
        # Hudi's writer looks keys up by its own index, with or without ours
        merged, upserted = min(100, facts.files), facts.files // 50 + 1
        parts += [
            build_part(spark, root, kind, facts, called="merged_files", files=merged),
            build_part(spark, root, kind, facts, called="upserted_files", files=upserted),
        ]
        yield suite.command("MERGE of 100 scattered rows", suite.merge, parts[1], 3)
        upsert = suite.command("upsert of keys in 2 % of the files", suite.upsert, parts[2], 5)
        yield upsert
        if kind.format == "iceberg":
            yield _peer(spark, suite, upsert, limit)
    suite.check()
    for target in (suite.whole, *parts):
        spark.sql(f"DROP TABLE {target.table}")


class _Suite:
    """The table while commands change it: each takes rows that no other touches."""

    def __init__(self, spark: SparkSession, whole: Target, facts: Facts) -> None:
        self.spark = spark
        self.whole = whole
        self.table = whole.table
        self.facts = facts
        self._turn = 0
        self._expected: list[tuple[str, int]] = []

    def _switch(self, mode: str) -> None:
        (ls.enable if mode == "skipping" else ls.disable)(self.spark)

    def command(
        self,
        name: str,
        change: Callable[[str, Target], Callable[[], object]],
        single_file: Target,
        bound: float,
    ) -> Measured:
        """Time a command in all ways in turn; indexes are refreshed in between, untimed."""
        targets = {**dict.fromkeys(MODES, self.whole), ALONE: single_file}
        taken: dict[str, list[float]] = {mode: [] for mode in targets}
        read: dict[str, int] = {}
        for number in range(self.facts.rounds + 1):
            for mode, target in targets.items():
                action = change(mode, target)
                self._switch(mode)
                seconds = in_turn({mode: action}, rounds=1, warm_up=False)[mode]
                if number:
                    taken[mode].append(seconds)
                scans = [row.files_read for row in ls.last_pruning(self.spark) if row.files_total]
                read[mode] = max(scans, default=0)
                ls.open_index(self.table, "k", spark=self.spark).refresh()
        native, skipping, alone = (sorted(times)[len(times) // 2] for times in taken.values())
        return Measured(
            name=name,
            value=native / skipping,
            unit="x",
            at_least=bound,
            details={
                "native": f"{native:.2f} s",
                "skipping": f"{skipping:.2f} s",
                "files": f"{self.facts.files} -> {read['skipping']}",
                ALONE: f"{alone:.2f} s, {native / alone:.2f} x",
            },
        )

    def _stretch(self, size: int, rows: int) -> int:
        """First id of rows that no command before has touched, spread over the files."""
        self._turn += 1
        return (self._turn * 7919 * size) % (rows - size)

    def _one(self, rows: int) -> int:
        # not among those that MERGE and upsert take, and each another
        at = self._stretch(1, rows) | 1
        return int(self.spark.sql(f"SELECT {ROW[1]} FROM range({at}, {at + 1})").first()[0])

    def _expect(self, target: Target, condition: str, rows: int) -> None:
        if target is self.whole:
            self._expected.append((condition, rows))

    def delete_one(self, _mode: str, target: Target) -> Callable[[], object]:
        """A DELETE of a key of its own."""
        key = self._one(target.rows)
        self._expect(target, f"k = {key}", 0)
        return lambda: self.spark.sql(f"DELETE FROM {target.table} WHERE k = {key}")

    def update_one(self, _mode: str, target: Target) -> Callable[[], object]:
        """An UPDATE of a key of its own."""
        key = self._one(target.rows)
        self._expect(target, f"k = {key} AND v = -1", 1)
        return lambda: self.spark.sql(f"UPDATE {target.table} SET v = -1 WHERE k = {key}")

    def _changed(self, ids: DataFrame) -> DataFrame:
        rows = ids.selectExpr(*ROW).selectExpr("id", "k", "-2D AS v", "payload").persist()
        rows.count()
        rows.createOrReplaceTempView("changed")
        return rows

    def merge(self, _mode: str, target: Target) -> Callable[[], object]:
        """A MERGE of rows all over the table."""
        step = target.rows // 100
        self._turn += 1
        self._changed(self.spark.range(2 * self._turn, target.rows, step, 1).limit(100))
        return self._merged(target)

    def upsert(self, mode: str, target: Target) -> Callable[[], object]:
        """An upsert of rows in few files, half of a percent of the table's rows at most."""
        size = max(1, self.facts.rows // 50)
        self._turn += 1
        first = (self._turn * size) % (target.rows - size)
        step = max(2, size // 10_000)
        rows = self._changed(self.spark.range(first, first + size, step, 1))
        if mode != "skipping":
            return self._merged(target)
        return lambda: ls.upsert(rows, target.table, on=["k"], spark=self.spark, refresh=None)

    def _merged(self, target: Target) -> Callable[[], object]:
        return lambda: self.spark.sql(f"MERGE INTO {target.table} t USING changed s {_UPSERT}")

    def joins(self) -> Iterator[Measured]:
        """A star join that needs 1 % of the files, and one that needs all of them."""
        rows = self.facts.rows
        one = max(rows // 100, 1)
        few = keys_where(self.spark, one, 2 * one, max(1, one // 200)).selectExpr(
            "k", "1 AS region"
        )
        all_ = keys_where(self.spark, 0, rows, max(1, rows // 20_000)).selectExpr(
            "k", "2 AS region"
        )
        few.union(all_).dropDuplicates(["k"]).write.mode("overwrite").parquet(self.aside())
        self.spark.read.parquet(self.aside()).createOrReplaceTempView("dimension")
        yield self._join("star join, dimension filtered to 1 % of the files", 1, at_least=5)
        yield self._join("join that needs every file, against without", 2, at_most=1.1)

    def aside(self) -> str:
        return f"{self.spark.conf.get('spark.lakesieve.warehouse')}/../dimension"

    def _join(
        self, name: str, region: int, *, at_least: float | None = None, at_most: float | None = None
    ) -> Measured:
        query = (
            f"SELECT count(*), sum(t.v) FROM {self.table} t JOIN dimension d ON t.k = d.k "
            f"WHERE d.region = {region}"
        )
        answers: dict[str, Any] = {}
        read: dict[str, int] = {}

        def ask(mode: str) -> None:
            self._switch(mode)
            answers[mode] = self.spark.sql(query).collect()
            scans = [row.files_read for row in ls.last_pruning(self.spark) if row.files_total]
            read[mode] = max(scans, default=0)

        actions = {mode: lambda mode=mode: ask(mode) for mode in MODES}
        times = in_turn(actions, rounds=self.facts.rounds)
        if answers["native"] != answers["skipping"]:
            raise AssertionError(f"the answers differ: {answers}")
        native, skipping = times["native"], times["skipping"]
        return Measured(
            name=name,
            value=skipping / native if at_most else native / skipping,
            unit="x",
            at_least=at_least,
            at_most=at_most,
            details={
                "native": f"{native:.2f} s",
                "skipping": f"{skipping:.2f} s",
                "files": f"{self.facts.files} -> {read['skipping']}",
            },
        )

    def check(self) -> None:
        """All commands did what they say, looked at without skipping."""
        ls.disable(self.spark)
        for condition, rows in self._expected:
            found = self.spark.sql(f"SELECT count(*) FROM {self.table} WHERE {condition}").first()
            if found[0] != rows:
                raise AssertionError(f"{condition}: {found[0]} rows instead of {rows}")


def _located(root: Path, table: str, kind: Kind, facts: Facts) -> Measured:
    """Bulk location in a process of its own, whose memory is measured."""
    command = [sys.executable, "-m", "bench.commands.locate", str(root / "warehouse")]
    keys = facts.rows // 4
    location = table if kind.format == "iceberg" else f"{kind.format}:{root}/{kind.format}_rows"
    done = subprocess.run(
        [*command, kind.format, location, str(facts.rows), str(keys)],
        capture_output=True,
        text=True,
        check=False,
        timeout=_PATIENCE,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        raise RuntimeError(f"locate failed: {(done.stderr + done.stdout)[-500:]}")
    document = json.loads(lines[-1])
    if document["keys"] != keys:
        raise AssertionError(f"{document['keys']} of {keys} keys were located")
    return Measured(
        name=f"locate of {keys:,} keys, peak memory of JVM and Python workers",
        value=(document["jvm"] + document["python"]) / GIGABYTE,
        unit="GiB",
        at_most=2,
        details={
            "time": f"{document['seconds']:.1f} s",
            "pairs": document["pairs"],
            "JVM": f"{document['jvm'] >> 20} MiB",
            "Python": f"{document['python'] >> 20} MiB",
        },
    )


def _peer(spark: SparkSession, suite: _Suite, ours: Measured, limit: float) -> Measured:
    """PyIceberg's upsert of as many rows in as many files, where it finishes in time."""
    suite.upsert("native", suite.whole)
    source = f"{suite.aside()}_changed"
    spark.table("changed").coalesce(1).write.mode("overwrite").parquet(source)
    jvm: Any = spark._jvm
    java = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(
        spark._jsparkSession, suite.table
    )
    metadata = str(java.operations().current().metadataFileLocation())
    command = [sys.executable, "-m", "bench.commands.pyiceberg_upsert", metadata, source]
    name = "upsert by PyIceberg over ours, time"
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit)
    except subprocess.TimeoutExpired:
        failed = f"not done after {limit:g} s"
    else:
        lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
        if lines and not done.returncode:
            seconds = json.loads(lines[-1])["seconds"]
            mine = float(str(ours.details["skipping"]).split()[0])
            details = {"PyIceberg": f"{seconds:.2f} s", "ours": f"{mine:.2f} s"}
            return Measured(name=name, value=seconds / mine, unit="x", details=details)
        failed = (done.stderr.strip().splitlines() or ["failed"])[-1][-200:]
    return Measured(name=name, value=float("nan"), unit="x", details={"PyIceberg": failed})
