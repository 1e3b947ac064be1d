"""The stages of a build without Spark: several indexes in one pass, each as if it were alone."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from lakesieve.sieve import Budget, KeyType
from lakesieve.spark.build.file_hashes import FileHashes
from lakesieve.spark.build.stages import IndexTask, cut, read_results, scatter
from lakesieve.storage import open_storage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
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


def _scattered(
    tasks: Sequence[IndexTask], batches: list[pa.RecordBatch], *, rows: int, size: int = 10**9
) -> list[pa.RecordBatch]:
    """Return the first stage's results for rows of five files."""
    return list(
        scatter(
            batches,
            indexes=[replace(task, first_ordinals=np.arange(6)) for task in tasks],
            files=FileHashes(hashes=np.arange(5), ordinals=np.arange(5, dtype=np.int32)),
            buffer_rows=rows,
            buffer_bytes=size,
        )
    )


def _pairs(
    tasks: Sequence[IndexTask], batches: list[pa.RecordBatch], rows: int, size: int
) -> list[dict[int, object]]:
    """Return the contents of each bucket, by index."""
    pairs: list[dict[int, set[object]]] = [{} for _ in tasks]
    tallies: list[dict[int, object]] = [{} for _ in tasks]
    for out in _scattered(tasks, batches, rows=rows, size=size):
        bucket = out.column(0)[0].as_py()
        at = next(i for i, task in enumerate(tasks) if bucket <= task.tally_bucket)
        table = _payload(out)
        seen = [tuple(row.values()) for row in table.to_pylist()]
        if bucket == tasks[at].tally_bucket:
            # keys that repeat may come in two buffers, and be found by the second stage
            tallies[at] = {-1: [row[:3] for row in seen]}
        else:
            pairs[at].setdefault(bucket - tasks[at].first_bucket, set()).update(seen)
    return [buckets | tally for buckets, tally in zip(pairs, tallies, strict=True)]


def _payload(out: pa.RecordBatch) -> pa.Table:
    return pa.ipc.open_stream(out.column(1)[0].as_buffer()).read_all()


def test_each_index_has_the_pairs_it_has_alone() -> None:
    """However the buffers fill, an index among several gets the same pairs and counts as alone."""
    drawn = random.Random("stages")
    for _ in range(40):
        rows, size = drawn.choice((1, 50, 10**6)), drawn.choice((1, 2000, 10**9))
        shapes: list[tuple[tuple[int, ...], tuple[KeyType, ...], tuple[int | bytes, ...]]] = [
            ((0,), TYPES[:1], (100, 200)),
            ((1,), TYPES[1:], (b"4",)),
            ((1, 0), TYPES[::-1], ()),
            ((0,), TYPES[:1], ()),
        ]
        drawn.shuffle(shapes)
        alone = [IndexTask(columns=c, key_types=t, boundaries=b) for c, t, b in shapes]
        together: list[IndexTask] = []
        for task in alone:
            first = together[-1].tally_bucket + 1 if together else 0
            together.append(replace(task, first_bucket=first))
        batches = _batches(drawn)

        expected = [_pairs([task], batches, rows, size)[0] for task in alone]
        assert _pairs(together, batches, rows, size) == expected


def _batch(rows: list[tuple[int | None, int]]) -> pa.RecordBatch:
    keys, files = zip(*rows, strict=True)
    return pa.record_batch([pa.array(keys, pa.int64()), pa.array(files)], ["a", "file"])


@pytest.mark.parametrize("budget", [None, "4 bits"])
def test_a_file_that_has_a_key_twice_is_known(tmp_path: Path, budget: str | None) -> None:
    """Files with a repeated key are found, whatever the buffers, tasks and buckets."""
    drawn = random.Random("repeats")
    seen = set()
    for turn in range(30):
        buffer_rows = drawn.choice((1, 7, 10**6))
        rows = [(drawn.choice((None, *range(40))), drawn.randrange(5)) for _ in range(25)]
        task = IndexTask(
            columns=(0,),
            key_types=TYPES[:1],
            boundaries=drawn.choice(((), (10, 30))),
            storage=open_storage(str(tmp_path / str(turn))),
            budget=None if budget is None else Budget.parse(budget),
        )
        payloads = [
            out
            for part in (rows[:9], rows[9:])
            for out in _scattered([task], [_batch(part)], rows=buffer_rows)
        ]
        whole = replace(task, first_ordinals=np.arange(6))
        results = cut(payloads, indexes=[whole], catalogue="c")

        _, tally = read_results(pa.Table.from_batches(list(results)), 5)

        keys = [[key for key, file in rows if file == at and key is not None] for at in range(5)]
        repeats = [len(set(one)) < len(one) for one in keys]
        assert (tally[2] > 0).tolist() == repeats
        seen.update(repeats)
    assert seen == {False, True}


def test_all_buffers_share_the_memory_of_one() -> None:
    """However many indexes there are, a task holds no more key bytes than for one."""
    tasks = [IndexTask(columns=(0,), key_types=TYPES[:1], first_bucket=2 * at) for at in range(6)]
    numbers = [pa.array(range(at, at + 20), pa.int64()) for at in range(0, 800, 20)]
    files = pa.array([0] * 20, pa.int64())
    read: list[int] = []

    def batches() -> Iterator[pa.RecordBatch]:
        for column in numbers:
            read.append(len(tasks) * len(column) * 8)
            yield pa.record_batch([column, files], ["a", "file"])

    sent = 0
    held: list[int] = []
    stage = scatter(
        batches(),
        indexes=tasks,
        files=FileHashes(hashes=np.arange(1), ordinals=np.zeros(1, np.int32)),
        buffer_bytes=2000,
    )
    for out in stage:
        held.append(sum(read) - sent)
        if out.column(0)[0].as_py() % 2 == 0:
            sent += _payload(out).column("key").nbytes

    batch = 6 * 20 * 8
    assert 2000 - batch < max(held) < 2000 + batch
    assert len(held) > 2 * 6
