"""Processes that index and merge are killed at random moments.

``LAKESIEVE_KILLS=200`` kills that many, ``LAKESIEVE_SEED`` draws other moments.
"""

from __future__ import annotations

import multiprocessing
import random
import signal
import time
from datetime import timedelta
from typing import TYPE_CHECKING

from tests.depth import depth
from tests.store.samples import DEFINITION, batch, covers
from tests.store.victims import MERGED_EVERY, work

from lakesieve.storage import open_storage
from lakesieve.store import IndexStore, compaction_changes, vacuum, verify

if TYPE_CHECKING:
    from pathlib import Path

    from lakesieve.storage import Storage

KILLS = depth("KILLS", test=12, soak=300)
LONGEST = 0.01
ROUND = MERGED_EVERY + 2
"""Messages of a process from one merge to the next."""


def _killed(storage: Storage, start: int, messages: int, seconds: float) -> list[tuple[str, int]]:
    """Let a process work, reading the index all the time, and kill it.

    Args:
        storage: The index.
        start: The first batch that the process adds.
        messages: How much it may do before.
        seconds: How long it may go on then.

    Returns:
        What it had printed.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.store.victims"])
    result, tell = context.Pipe(duplex=False)
    process = context.Process(target=work, args=(storage, start, tell))
    process.start()
    tell.close()
    done = [result.recv()]
    while len(done) < messages:
        covers(IndexStore(storage))
        while len(done) < messages and result.poll():
            done.append(result.recv())
    time.sleep(seconds)
    process.kill()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    try:
        while True:
            done.append(result.recv())
    except (EOFError, OSError):  # cut off by the kill
        result.close()
    return done


def test_a_killed_process_loses_nothing(tmp_path: Path) -> None:
    """What was reported as indexed stays, and readers and the next writer continue as usual."""
    seed = depth("SEED", test=5, soak=random.randrange(2**32))
    moments = random.Random(seed)
    cut_off: list[str] = []
    for number in range(KILLS):
        storage = open_storage(str(tmp_path / f"index {number}"))
        store = IndexStore(storage)
        store.create(DEFINITION, batch(storage, 0, "create"))
        # every other one while it merges
        messages = moments.randint(1, 2 * ROUND) if number % 2 else ROUND - 1
        done = _killed(storage, 100, messages, moments.uniform(0, LONGEST))
        sure = {0} | {first for operation, first in done if operation == "refresh"}
        known = covers(store)
        assert known - sure <= {max(sure) + 100}, f"seed {seed}"
        assert sure <= known, f"lost with seed {seed}"
        assert verify(store).is_sound, f"seed {seed}"
        cut_off.append(done[-1][0])
        # the next writer recovers by itself
        base = store.snapshot()
        changes = compaction_changes(store, base)
        if changes is not None:
            store.commit(base, changes)
        assert covers(store) == known
        vacuum(store, retain_commits=1, older_than=timedelta(0), dry_run=False)
        needed = {path for _, path in store.snapshot().objects()}
        left = {info.path for prefix in ("segments/", "files/") for info in storage.objects(prefix)}
        assert left == needed, f"seed {seed}"
        assert covers(store) == known

    assert "merging" in cut_off, f"no merge was cut off: {cut_off}"
