"""A table of very many files, of which there is only the metadata."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import httpx

from bench.measure import Measured
from bench.serve.server import planned, server, throughput
from bench.synthetic import ManyFiles

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["measured"]

PLAN_MILLISECONDS = 60.0
_FILES_OF_A_MANIFEST = 1000


def measured(folder: Path, files: int) -> Iterator[Measured]:
    """Plan for a key of random keys.

    Args:
        folder: Where the metadata goes.
        files: How many files there are.
    """
    keys = ManyFiles.make(folder, files, of_a_manifest=_FILES_OF_A_MANIFEST).keys
    with server(folder) as process, httpx.Client() as client:
        first = planned(client, keys[0])
        taken = sorted(planned(client, key) for key in keys)
        memory = int(
            subprocess.run(
                ["ps", "-o", "rss=", "-p", str(process)], capture_output=True, check=True
            ).stdout
        )
        yield Measured(
            name=f"a warm plan of {files:,} files, as a client sees it",
            value=taken[len(taken) // 2] * 1000,
            unit="ms",
            at_most=PLAN_MILLISECONDS,
            details={
                "the first, which reads all manifests": f"{first:.1f} s",
                "memory of the server": f"{memory / 1024:.0f} MB",
            },
        )
        yield Measured(
            name=f"plans a second of {files:,} files, of four clients",
            value=throughput(keys),
            unit="plans/s",
        )
