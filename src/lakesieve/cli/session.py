"""Starting Spark without its chatter, and commands that need no Spark quickly."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from typing import IO, TYPE_CHECKING, Any, TypeAlias

import lakesieve as ls
from lakesieve.errors import ErrorKind, LakesieveError, SetupError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


Session: TypeAlias = Any
"""A Spark session, which the command line only hands on."""

_owned: list[bool] = []


class _WithoutPandas(MetaPathFinder):
    def find_spec(self, fullname: str, *_: object) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError("pandas is not used here", name="pandas")


def own_process() -> None:
    """Say that this process is there for one command alone."""
    _owned.append(True)


def leave_out_pandas() -> None:
    """Keep pyarrow from loading pandas with its first array, which takes half a second."""
    if _owned:
        sys.meta_path.insert(0, _WithoutPandas())


def start_session(
    warehouse: str, formats: Sequence[str], conf: Mapping[str, str], *, debug: bool
) -> Session:
    """Start the embedded session.

    Unless ``debug``, everything that the JVM writes from then on goes into a temporary file.
    """
    if debug:
        return ls.local_session(warehouse, formats=formats, conf=conf)
    with tempfile.TemporaryFile() as log:
        try:
            with _streams_into(log):
                return ls.local_session(warehouse, formats=formats, conf=conf)
        except LakesieveError:
            raise
        except Exception as error:
            complaint = _first_complaint(log) or str(error).strip().partition("\n")[0]
            hint = "Run the command again with --debug to see all of Spark's messages."
            if "unresolved dependency" in complaint:
                hint = "Can this machine reach Maven Central, where Spark's packages come from?"
            raise SetupError(
                f"Spark did not start: {complaint.rstrip('.')}.",
                kind=ErrorKind.DEPENDENCY_MISSING,
                hint=hint,
            ) from error


@contextmanager
def _streams_into(log: IO[bytes]) -> Iterator[None]:
    """Let processes started here inherit the log as their stdout and stderr."""
    sys.stdout.flush()
    sys.stderr.flush()
    saved = [(descriptor, os.dup(descriptor)) for descriptor in (1, 2)]
    try:
        for descriptor, _ in saved:
            os.dup2(log.fileno(), descriptor)
        yield
    finally:
        for descriptor, copy in saved:
            os.dup2(copy, descriptor)
            os.close(copy)


def _first_complaint(log: IO[bytes]) -> str:
    """Return the first line that looks like the cause, else the last one."""
    log.seek(0)
    lines = [line.strip() for line in log.read().decode(errors="replace").splitlines()]
    lines = [line for line in lines if line]
    causes = [line for line in lines if re.search(r"Exception|^Invalid|^Error", line)]
    return (causes or lines[-1:] or [""])[0]
