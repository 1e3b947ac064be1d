"""A query engine in a few lines, which speaks the protocol of the planner as a JVM does."""

from __future__ import annotations

import base64
import hashlib
import json
import struct
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from lakesieve.tables import TableReader

__all__ = ["DIGEST", "Engine", "codes", "frame", "request", "scan_of", "single"]

DIGEST = 16
_FRAME = struct.Struct(">IIqB")
_MARK = 0x4C4B5356


def request(*scans: dict[str, Any], seconds: float = 10, **more: object) -> str:
    """Ask which files scans keep.

    Args:
        scans: The scans, numbered here.
        seconds: How long the engine waits.
        more: Other fields, or other values of them.
    """
    numbered = [scan | {"id": number} for number, scan in enumerate(scans)]
    fields = {"version": 2, "seconds": seconds, "memory": 1 << 28, "catalogues": []}
    return json.dumps(fields | {"scans": numbered} | more)


def scan_of(table: TableReader, condition: object, **more: object) -> dict[str, Any]:
    """The scan of the current version of a table.

    Args:
        table: The table.
        condition: The condition on its rows.
        more: Other fields.
    """
    return {
        "format": table.format,
        "table": table.name,
        "uuid": table.uuid,
        "location": table.location,
        "schema": table.version().schema,
        "filter": condition,
        **more,
    }


def codes(answer: dict[str, Any]) -> list[list[str]]:
    """The codes said of each scan."""
    return [[reason["code"] for reason in scan["reasons"]] for scan in answer["scans"]]


def frame(kind: int, text: str, number: int = 0) -> bytes:
    """Write a frame of the companion process.

    Args:
        kind: 1 opens a session, 2 is a request.
        text: The session's name, a newline, and what is said.
        number: Number of the request.
    """
    content = text.encode()
    return _FRAME.pack(_MARK, len(content), number, kind) + content


def single(read: Callable[[int], bytes]) -> tuple[int, int, str]:
    """Read a frame: its number, its kind and its text."""
    mark, length, number, kind = _FRAME.unpack(read(_FRAME.size))
    assert mark == _MARK
    return number, kind, read(length).decode()


class Engine:
    """Asks the planner, and applies its answers to the paths of data files.

    Args:
        ask: Sends a request, and returns the answer.
    """

    def __init__(self, ask: Callable[[str], str]) -> None:
        self._ask = ask
        self._catalogues: dict[str, list[bytes]] = {}

    def scan(self, scan: dict[str, Any], complete: Collection[str] | None = None) -> dict[str, Any]:
        """Ask about one scan; the answer has all that it takes to apply it.

        Args:
            scan: The scan.
            complete: The files of which the scan returns every row. Only scans that do not need all
                rows need them.
        """
        answer = self._answer(request(scan, catalogues=list(self._catalogues)))
        (result,) = answer["scans"]
        if complete is not None and "live" in result:
            return self.scan(self._counted(scan, answer, complete))
        for catalogues in result.get("catalogues", ()):
            for name, files in catalogues:
                self._fetch(answer["ticket"], name, files)
        found: dict[str, Any] = result | {"secret": base64.b64decode(answer["secret"])}
        return found

    def kept(
        self, scan: dict[str, Any], paths: Iterable[str], complete: Collection[str] | None = None
    ) -> set[str]:
        """The files that a scan must read.

        Args:
            scan: The scan.
            paths: Its files.
            complete: As for :meth:`scan`.
        """
        answer = self.scan(scan, complete)
        if "keep" not in answer:
            return set(paths)
        kept = set()
        for path in paths:
            digest = hashlib.sha256(answer["secret"] + path.encode()).digest()[:DIGEST]
            listed = [self._listed(names) for names in answer["catalogues"]]
            covered = any(digest in digests for digests in listed)
            if not covered or _keeps(answer["keep"], listed, digest):
                kept.add(path)
        return kept

    def _counted(
        self, scan: dict[str, Any], answer: dict[str, Any], complete: Collection[str]
    ) -> dict[str, Any]:
        """Add to what is needed of a scan which files of the catalogues count."""
        secret = base64.b64decode(answer["secret"])
        digests = {hashlib.sha256(secret + path.encode()).digest()[:DIGEST] for path in complete}
        lives = []
        (result,) = answer["scans"]
        for catalogues in result["live"]:
            left, live = set(digests), {}
            for name, files in catalogues:
                self._fetch(answer["ticket"], name, files)
                listed = self._catalogues[name]
                # a file counts once, although several catalogues may list it
                bits = np.packbits([digest in left for digest in listed], bitorder="little")
                live[name] = base64.b64encode(bits.tobytes()).decode()
                left -= set(listed)
            lives.append({"live": live})
        for name in ("distinct", "some_rows"):
            if name in scan:
                return scan | {name: scan[name] | lives[0]}
        first = scan["first_rows"]
        orders = [order | live for order, live in zip(first["orders"], lives, strict=True)]
        return scan | {"first_rows": first | {"orders": orders}}

    def _answer(self, text: str) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self._ask(text))
        assert answer["version"] == 2
        assert "refusal" not in answer, answer
        return answer

    def _fetch(self, ticket: str, name: str, files: int) -> None:
        digests = self._catalogues.setdefault(name, [])
        while len(digests) < files:
            more = {"version": 2, "ticket": ticket, "catalogue": name, "from": len(digests)}
            data = base64.b64decode(self._answer(json.dumps(more))["digests"])
            assert data
            digests += [data[at : at + DIGEST] for at in range(0, len(data), DIGEST)]

    def _listed(self, catalogues: list[Any]) -> list[bytes]:
        return [digest for name, _ in catalogues for digest in self._catalogues[name]]


def _keeps(tree: dict[str, Any], listed: list[list[bytes]], digest: bytes) -> bool:
    if "index" in tree:
        bits = base64.b64decode(tree["keep"])
        places = [at for at, one in enumerate(listed[tree["index"]]) if one == digest]
        return not places or any(bits[at >> 3] >> (at & 7) & 1 for at in places)
    if tree["op"] == "none":
        return False
    answers = [_keeps(arg, listed, digest) for arg in tree["args"]]
    return all(answers) if tree["op"] == "and" else any(answers)
