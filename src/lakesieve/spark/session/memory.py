"""Divide the memory of one machine between the processes of a local session."""

from __future__ import annotations

import os
import re

from lakesieve.errors import ErrorKind, InvalidInputError

_MB = 1 << 20
_UNITS = {"m": _MB, "g": 1 << 30}
# measured while indexes of 60 to 600 million rows were built, see docs/scale.md
_WORKER = 560 * _MB
"""Memory of a Python worker with the largest buffer or bucket of a build."""
_DRIVER = 250 * _MB
"""Memory of the process that started the session."""
_BESIDE_HEAP = 520 * _MB
"""Memory of a JVM besides its heap: classes, compiled code, threads, buffers of the shuffle."""
_LEAST_HEAP = 512 * _MB


def memory_conf(memory: str, master: str) -> dict[str, str]:
    """Return Spark settings that limit the memory of all processes of a local session."""
    match = re.fullmatch(r"(\d+)([mg])b?", memory.strip().lower())
    if match is None:
        raise InvalidInputError(
            f"{memory!r} is not an amount of memory.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Give an amount such as 2g or 1500m.",
        )
    slots = _slots(master)
    others = _DRIVER + slots * _WORKER + _BESIDE_HEAP
    heap = int(match[1]) * _UNITS[match[2]] - others
    if heap < _LEAST_HEAP:
        least = -(-(others + _LEAST_HEAP) // _MB)
        raise InvalidInputError(
            f"{memory} is too little for {slots} task slot{'' if slots == 1 else 's'}.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint=f"Give at least {least}m, or fewer slots: conf={{'spark.master': 'local[1]'}}.",
        )
    return {"spark.driver.memory": f"{heap // _MB}m"}


def _slots(master: str) -> int:
    match = re.fullmatch(r"local(?:\[(\d+|\*)(?:,\d+)?\])?", master)
    if match is None:
        raise InvalidInputError(
            f"memory= works only with a local master, not with {master}.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="On a cluster, set spark.executor.memory, and spark.executor.memoryOverhead to "
            f"{_WORKER // _MB}m for each core of an executor.",
        )
    if match[1] == "*":
        return os.cpu_count() or 1
    return int(match[1] or 1)
