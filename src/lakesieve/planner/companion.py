"""The process that answers an engine without Python: the planner, over pipes.

``python -m lakesieve.planner.companion VERSION`` is started by ``CompanionProcess.java``. Standard
input has requests and standard output has answers, in frames that
``docs/design/0030-the-protocol-between-jvm-and-python.md`` specifies. The process ends when the
engine closes the pipe.
"""

from __future__ import annotations

import json
import os
import struct
import sys
import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from typing import IO, TYPE_CHECKING, NoReturn

from lakesieve.errors import LakesieveError
from lakesieve.index import Reason, ReasonCode
from lakesieve.planner.answers import refusal
from lakesieve.planner.planner import Planner
from lakesieve.storage import TRUSTED_ROOTS, StorageOptions, trusted_folders

if TYPE_CHECKING:
    from collections.abc import Mapping

_FRAME = struct.Struct(">IIqB")
_MARK = 0x4C4B5356
_OPEN, _PLAN = 1, 2
_ANSWER, _FAILURE = 0, 1
_LARGEST = 1 << 30
# requests wait for storage, and hardly compute
_THREADS = 64
# the engine does not say which sessions it has closed
_SESSIONS = 1000


class Companion:
    """Reads requests and writes answers, each when it is there."""

    def __init__(self, requests: IO[bytes], answers: IO[bytes]) -> None:
        self._requests = requests
        self._answers = answers
        self._writing = threading.Lock()
        self._pool = ThreadPoolExecutor(_THREADS, "lakesieve-companion")
        self._sessions: OrderedDict[str, Planner | Reason] = OrderedDict()

    def serve(self) -> None:
        """Answer until the driver closes the pipe."""
        while True:
            head = self._requests.read(_FRAME.size)
            if len(head) < _FRAME.size:
                return
            mark, length, number, kind = _FRAME.unpack(head)
            if mark != _MARK or length > _LARGEST or kind not in {_OPEN, _PLAN}:
                raise ValueError("the bytes are not a request of a driver")
            content = self._requests.read(length)
            if len(content) < length:
                return
            session, _, text = content.decode("utf-8", "replace").partition("\n")
            if kind == _OPEN:
                self._open(session, text)
            else:
                self._pool.submit(self._plan, number, self._sessions.get(session), text)

    def _open(self, session: str, text: str) -> None:
        """Take the settings of a session, new or changed.

        Settings that cannot be used concern this session alone: its queries are told the reason.
        """
        known = self._sessions.pop(session, None)
        try:
            planner = known if isinstance(known, Planner) else Planner()
            self._relocate(planner, json.loads(text))
            self._sessions[session] = planner
        except Exception as error:  # noqa: BLE001 - other sessions go on
            detail = error.message if isinstance(error, LakesieveError) else repr(error)
            self._sessions[session] = Reason(code=ReasonCode.INVALID_SETTING, detail=detail)
        while len(self._sessions) > _SESSIONS:
            self._sessions.popitem(last=False)

    def _relocate(self, planner: Planner, settings: Mapping[str, object]) -> None:
        """Have the look-ups of a session follow its settings."""
        hadoop = settings.get("hadoop") or {}
        assert isinstance(hadoop, dict)
        options = StorageOptions(
            conf=hadoop | {TRUSTED_ROOTS: ",".join(trusted_folders(str(settings["trusted"])))}
        )
        roots = str(settings["locations"]).split(",")
        planner.relocate([root.strip() for root in roots if root.strip()], options)

    def _plan(self, number: int, session: Planner | Reason | None, request: str) -> None:
        kind = _ANSWER
        try:
            if session is None:
                raise LookupError("the session is not known any more")
            answer = refusal(session) if isinstance(session, Reason) else session.answer(request)
        except Exception as error:  # noqa: BLE001 - the scan stays as it was
            kind, answer = _FAILURE, f"{type(error).__name__}: {error}"
        content = answer.encode("utf-8")
        with self._writing:
            self._answers.write(_FRAME.pack(_MARK, len(content), number, kind))
            self._answers.write(content)
            self._answers.flush()


def main() -> NoReturn:
    """Serve the driver that started this process."""
    own, wanted = version("lakesieve"), " ".join(sys.argv[1:])
    if wanted != own:
        sys.exit(f"the jar is of lakesieve {wanted}, this one is {own}")
    # what other code prints is no answer
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    Companion(sys.stdin.buffer, answers).serve()
    # without waiting for threads that wait for storage
    os._exit(0)


if __name__ == "__main__":
    main()
