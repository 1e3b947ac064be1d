"""What is read from event logs, including broken, incomplete and foreign files."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest

from lakesieve.advisor.event_log import read_event_logs
from lakesieve.advisor.table_scans import KnownTable
from lakesieve.predicate.expression import And, Compare

if TYPE_CHECKING:
    from pathlib import Path

    from lakesieve.advisor.uses import TableUse, UsesRead

TABLE = KnownTable(
    name="lake.db.t", location="/lake/db/t", kinds={("k",): "integer", ("s",): "string"}
)
SQL = "org.apache.spark.sql.execution.ui.SparkListener"


def scan(table: str = "lake.db.t", **more: Any) -> dict[str, Any]:
    """Return a scan with the metric 7 for its files."""
    return {
        "nodeName": f"BatchScan {table}",
        "simpleString": f"BatchScan {table}[k#1L, s#2] {table} [filters=, groupedBy=]",
        "metrics": [
            {"name": "number of result data files", "accumulatorId": 7, "metricType": "sum"},
            {"name": "number of output rows", "accumulatorId": 8, "metricType": "sum"},
        ],
        "children": [],
        **more,
    }


def above(name: str, text: str, *children: dict[str, Any]) -> dict[str, Any]:
    """Return a node above others."""
    return {"nodeName": name, "simpleString": text, "children": list(children), "metrics": []}


def started(number: int, plan: dict[str, Any], at: int = 1000) -> dict[str, Any]:
    """Return the event of a query's start."""
    return {
        "Event": f"{SQL}SQLExecutionStart",
        "executionId": number,
        "time": at,
        "sparkPlanInfo": plan,
    }


def ended(number: int, at: int = 3000, **more: Any) -> dict[str, Any]:
    """Return the event of a query's end."""
    return {"Event": f"{SQL}SQLExecutionEnd", "executionId": number, "time": at, **more}


def query(number: int, plan: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a query whose scan reads five files, with tasks of one and a half seconds."""
    return [
        started(number, plan),
        {
            "Event": f"{SQL}DriverAccumUpdates",
            "executionId": number,
            "accumUpdates": [[7, 5], [99, 1]],
        },
        {
            "Event": "SparkListenerJobStart",
            "Stage IDs": [number],
            "Properties": {"spark.sql.execution.id": str(number)},
        },
        *(
            {
                "Event": "SparkListenerTaskEnd",
                "Stage ID": number,
                "Task Info": {
                    "Launch Time": 1200 + 500 * n,
                    "Finish Time": 1700 + 500 * n,
                    "Accumulables": [{"ID": 8, "Update": "40"}],
                },
                "Task Metrics": {"Input Metrics": {"Bytes Read": 10}},
            }
            for n in (0, 2)
        ),
        ended(number),
    ]


def point(key: int = 5) -> dict[str, Any]:
    """Return a scan under a condition."""
    text = f"Filter (isnotnull(k#1L) AND (k#1L = {key}))"
    return above("WholeStageCodegen (1)", "WholeStageCodegen (1)", above("Filter", text, scan()))


def read(folder: Path, *events: dict[str, Any] | bytes, name: str = "app-1") -> UsesRead:
    """Write a log, and read it."""
    lines = [one if isinstance(one, bytes) else json.dumps(one).encode() for one in events]
    (folder / name).write_bytes(b"\n".join(lines) + b"\n")
    return read_event_logs([str(folder)], [TABLE])


def compared(use: TableUse) -> list[Any]:
    """Return the literals with which a use compares."""
    found, waiting = [], [use.condition]
    while waiting:
        at = waiting.pop()
        if isinstance(at, And):
            waiting += at.args
        elif isinstance(at, Compare):
            found.append(at.value.value)
    return found


def test_a_query(tmp_path: Path) -> None:
    """A query has its condition, its files, and the reading time of its tasks."""
    found = read(tmp_path, *query(3, point()))
    (use,) = found.uses
    assert (use.table, use.files, use.seconds, use.a_day) == (0, 5, 1.5, 1.0)
    assert compared(use) == [5]
    assert (found.queries, found.days, found.problems) == (1, 1.0, ())


def test_of_the_newest_plan(tmp_path: Path) -> None:
    """If a plan changes while a query runs, the newest plan counts."""
    begin, *rest = query(3, point())
    later = {"Event": f"{SQL}SQLAdaptiveExecutionUpdate", "executionId": 3}
    found = read(tmp_path, begin, later | {"sparkPlanInfo": point(6)}, *rest)
    assert [compared(use) for use in found.uses] == [[6]]


def test_failed_and_unfinished(tmp_path: Path) -> None:
    """Failed and unfinished queries do not count as uses."""
    failed = [*query(1, point())[:-1], ended(1, errorMessage="no")]
    found = read(tmp_path, *failed, started(2, point()))
    assert (found.uses, found.queries) == ((), 2)


def test_other_tables(tmp_path: Path) -> None:
    """Scans of other tables are ignored, even at similar locations."""
    plain = {
        "nodeName": "Scan parquet ",
        "simpleString": "FileScan parquet [k#1L] ...",
        "children": [],
    }
    others = [
        scan("lake.db.other"),
        scan("other.db.t"),
        plain | {"metadata": {"Location": "InMemoryFileIndex(1 paths)[file:/lake/db/t2]"}},
        plain | {"metadata": {"Location": "InMemoryFileIndex(1 paths)[file:/lake/db]"}},
    ]
    events = [event for n, one in enumerate(others) for event in query(n, one)]
    assert read(tmp_path, *events).uses == ()
    mine = plain | {"metadata": {"Location": "PreparedDeltaFileIndex(1 paths)[file:/lake/db/t]"}}
    cut = plain | {"metadata": {"Location": "InMemoryFileIndex(1 paths)[file:/lake/d..."}}
    for one in (mine, cut):
        assert len(read(tmp_path, *query(1, one)).uses) == 1


def test_joins(tmp_path: Path) -> None:
    """A join has its column, even under an alias, and the rows of the other side."""
    other = scan("lake.db.d") | {
        "metrics": [{"name": "number of output rows", "accumulatorId": 99, "metricType": "sum"}]
    }
    renamed = above("Project", "Project [k#1L AS kk#31L, s#2]", scan())
    join = above(
        "BroadcastHashJoin", "BroadcastHashJoin [kk#31L], [d#9L], Inner, BuildRight", renamed, other
    )
    (use,) = read(tmp_path, *query(1, join)).uses
    assert [(one.column, one.rows) for one in use.joined] == [(("k",), 1)]


def test_condition_over_a_join(tmp_path: Path) -> None:
    """A condition above a join belongs to no single table and is ignored."""
    join = above("SortMergeJoin", "SortMergeJoin [k#1L], [d#9L], Inner", scan(), scan("lake.db.d"))
    (use,) = read(tmp_path, *query(1, above("Filter", "Filter (k#9L = 5)", join))).uses
    assert compared(use) == []


def test_broken_lines(tmp_path: Path) -> None:
    """Broken lines are named and left out, and other lines count."""
    one, two = query(1, point(1)), query(2, point(2))
    cut = json.dumps(started(3, point())).encode()[:-20]
    found = read(
        tmp_path, *one, cut, b"\xff\xfe garbage", b'{"Event": "SparkListenerTaskEnd"}', *two
    )
    assert [compared(use) for use in found.uses] == [[1], [2]]
    assert [text.partition(": ")[2] for text in found.problems] == [
        "line 7 is not a complete event and is left out",
        "line 9 is not a complete event and is left out",
    ]


@pytest.mark.parametrize("data", [b"not a log\n" * 50, b"\x00" * 500, b'{"a": 1}\n', b"[" * 9000])
def test_no_log(tmp_path: Path, data: bytes) -> None:
    """A file that is not a log is named in one line, and other logs count."""
    (tmp_path / "app-0").write_bytes(data)
    found = read(tmp_path, *query(1, point()))
    assert len(found.uses) == 1
    assert [text.partition(": ")[2] for text in found.problems] == [
        "is not an event log of Spark and is left out"
    ]


def test_cut_compression(tmp_path: Path) -> None:
    """The message says how far a truncated file could be read."""
    import pyarrow as pa

    drawn = random.Random("cut")
    events = [event for n in range(2000) for event in query(n, point(drawn.randrange(10**9)))]
    text = b"\n".join(json.dumps(event).encode() for event in events)
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(text)
    whole = bytes(sink.getvalue())
    (tmp_path / "app-1.zstd").write_bytes(whole[: len(whole) * 3 // 4])
    found = read_event_logs([str(tmp_path)], [TABLE])
    assert 500 < len(found.uses) < 2000
    (tmp_path / "app-1.zstd").write_bytes(whole[:1000] + b"\x00" * 50 + whole[1050:])
    damaged = read_event_logs([str(tmp_path)], [TABLE])
    assert len(damaged.problems) == 1
    assert "ends after" in damaged.problems[0]


def test_several_days(tmp_path: Path) -> None:
    """A query that runs twice in four days runs half a time a day."""
    later = query(2, point())
    later[0]["time"] = later[-1]["time"] = 1000 + 4 * 86_400_000
    found = read(tmp_path, *query(1, point()), *later)
    assert found.days == pytest.approx(4, rel=1e-6)
    assert [use.a_day for use in found.uses] == [pytest.approx(0.25, rel=1e-6)] * 2


def test_applications_one_after_the_other(tmp_path: Path) -> None:
    """Ids of one application do not matter in the next one."""
    begin = {"Event": "SparkListenerApplicationStart", "Timestamp": 500}
    (tmp_path / "app-0").write_text(json.dumps(started(1, point(1))) + "\n")
    found = read(tmp_path, begin, ended(1), *query(2, point(2)))
    assert [compared(use) for use in found.uses] == [[2]]


def test_deep_plan(tmp_path: Path) -> None:
    """A deep plan is read down to a limit."""
    plan = scan()
    for _ in range(300):
        plan = above("Project", "Project [k#1L]", plan)
    assert len(read(tmp_path, *query(1, plan)).uses) == 1


@pytest.mark.parametrize("name", ["lakesieve.files", "spark.job.description"])
def test_files_left_by_indexes_are_counted(tmp_path: Path, name: str) -> None:
    """For a query that an index served, the opened files count, not Iceberg's number."""
    events = query(1, point())
    others = "3 of 9 data files of lake.db.x (index s)"
    note = f"lakesieve reads 1 of 200 data files of lake.db.t (index k); {others}"
    events[2]["Properties"][name] = note

    (use,) = read(tmp_path, *events).uses

    assert use.files == 1
