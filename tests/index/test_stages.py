"""The stages of a build without Spark: several indexes in one pass, each as if it were alone."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from lakesieve.sieve import Budget, KeyType
from lakesieve.spark.build import stages
from lakesieve.spark.build.stages import (
    CutPlan,
    KeyRuns,
    ScatterPlan,
    SegmentPlan,
    cut,
    scatter,
)
from lakesieve.spark.build.tally import collected
from lakesieve.storage import open_storage

if TYPE_CHECKING:
    from pathlib import Path

TYPES = (KeyType(kind="integer"), KeyType(kind="string"))


def _batches(drawn: random.Random) -> list[pa.RecordBatch]:
    batches = []
    for _ in range(drawn.randrange(1, 30)):
        rows = drawn.randrange(40)
        numbers = [drawn.choice((None, drawn.randrange(300))) for _ in range(rows)]
        texts = [drawn.choice((None, b"%d" % drawn.randrange(90) * 9)) for _ in range(rows)]
        files = [drawn.randrange(5) for _ in range(rows)]
        columns = [pa.array(numbers, pa.int64()), pa.array(texts, pa.binary())]
        batches.append(pa.record_batch([*columns, pa.array(files, pa.int64())], ["a", "b", "file"]))
    return batches


def _pairs(runs: tuple[KeyRuns, ...], batches: list[pa.RecordBatch]) -> list[dict[int, object]]:
    """By index, what each of its buckets holds."""
    plan = ScatterPlan(runs=runs, hashes=np.arange(5), ordinals=np.arange(5, dtype=np.int32))
    found: list[dict[int, set[object]]] = [{} for _ in runs]
    tallies: list[dict[int, object]] = [{} for _ in runs]
    for out in scatter(plan)(batches):
        bucket = out.column(0)[0].as_py()
        at = next(i for i, run in enumerate(runs) if bucket <= run.tally_bucket)
        table = pa.ipc.open_stream(out.column(1)[0].as_buffer()).read_all()
        rows = [tuple(row.values()) for row in table.to_pylist()]
        if bucket == runs[at].tally_bucket:
            # keys that repeat may come in two buffers, and be found by the second stage
            tallies[at] = {-1: [row[:3] for row in rows]}
        else:
            found[at].setdefault(bucket - runs[at].first_bucket, set()).update(rows)
    return [buckets | tally for buckets, tally in zip(found, tallies, strict=True)]


def test_each_index_has_the_pairs_it_has_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever fills the buffers, an index among several gets the pairs and counts of its own."""
    drawn = random.Random("stages")
    for _ in range(40):
        monkeypatch.setattr(stages, "BUFFER_ROWS", drawn.choice((1, 50, 10**6)))
        monkeypatch.setattr(stages, "BUFFER_BYTES", drawn.choice((1, 2000, 10**9)))
        shapes = [
            ((0,), TYPES[:1], (100, 200)),
            ((1,), TYPES[1:], (b"4",)),
            ((1, 0), TYPES[::-1], ()),
            ((0,), TYPES[:1], ()),
        ]
        drawn.shuffle(shapes)
        alone = [KeyRuns(columns=c, key_types=t, boundaries=b) for c, t, b in shapes]
        together: list[KeyRuns] = []
        for columns, types, boundaries in shapes:
            run = KeyRuns(
                columns=columns,
                key_types=types,
                boundaries=boundaries,
                first_bucket=together[-1].tally_bucket + 1 if together else 0,
            )
            together.append(run)
        batches = _batches(drawn)

        expected = [_pairs((run,), batches)[0] for run in alone]
        assert _pairs(tuple(together), batches) == expected


def _batch(rows: list[tuple[int | None, int]]) -> pa.RecordBatch:
    keys, files = zip(*rows, strict=True)
    return pa.record_batch([pa.array(keys, pa.int64()), pa.array(files)], ["a", "file"])


@pytest.mark.parametrize("budget", [None, "4 bits"])
def test_a_file_that_has_a_key_twice_is_known(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, budget: str | None
) -> None:
    """Whatever fills the buffers of whichever task, and in however many buckets the keys are."""
    drawn = random.Random("repeats")
    seen = set()
    for turn in range(30):
        monkeypatch.setattr(stages, "BUFFER_ROWS", drawn.choice((1, 7, 10**6)))
        rows = [(drawn.choice((None, *range(40))), drawn.randrange(5)) for _ in range(25)]
        boundaries = drawn.choice(((), (10, 30)))
        runs = KeyRuns(columns=(0,), key_types=TYPES[:1], boundaries=boundaries)
        plan = ScatterPlan(runs=(runs,), hashes=np.arange(5), ordinals=np.arange(5, dtype=np.int32))
        tasks = [rows[:9], rows[9:]]
        payloads = [out for task in tasks for out in scatter(plan)([_batch(task)])]
        of = SegmentPlan(
            storage=open_storage(str(tmp_path / str(turn))),
            tally_bucket=runs.tally_bucket,
            budget=None if budget is None else Budget.parse(budget),
        )
        written = cut(CutPlan(segments=(of,), catalogue="c", unit_count=5))(payloads)
        parts = [(out.column(1)[0].as_py(), out.column(2)[0].as_py()) for out in written]

        _, tally = collected(parts, 5)

        keys = [[key for key, file in rows if file == at and key is not None] for at in range(5)]
        repeats = [len(set(one)) < len(one) for one in keys]
        assert (tally[2] > 0).tolist() == repeats
        seen.update(repeats)
    assert seen == {False, True}


def test_all_buffers_share_the_memory_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many indexes there are, a task holds no more key bytes than for one."""
    monkeypatch.setattr(stages, "BUFFER_BYTES", 2000)
    buffers: dict[int, stages._Buffer] = {}
    held: list[int] = []
    plain = stages._Buffer.add

    def add(self: stages._Buffer, columns: list[pa.Array], units: np.ndarray) -> None:
        plain(self, columns, units)
        buffers[id(self)] = self
        held.append(sum(buffer.bytes for buffer in buffers.values()))

    monkeypatch.setattr(stages._Buffer, "add", add)
    runs = tuple(KeyRuns(columns=(0,), key_types=TYPES[:1], first_bucket=2 * at) for at in range(6))
    plan = ScatterPlan(runs=runs, hashes=np.arange(1), ordinals=np.zeros(1, np.int32))
    numbers = [pa.array(range(at, at + 20), pa.int64()) for at in range(0, 800, 20)]
    files = pa.array([0] * 20, pa.int64())
    batches = [pa.record_batch([column, files], ["a", "file"]) for column in numbers]

    sent = list(scatter(plan)(batches))

    batch = 6 * 20 * 8
    assert 2000 - batch < max(held) < 2000 + batch
    assert len(sent) > 2 * 6
