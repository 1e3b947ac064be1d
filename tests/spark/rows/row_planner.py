"""A planner that answers the pruning rule with files and rows that a test chooses."""

from __future__ import annotations

import json
from base64 import b64encode
from hashlib import sha256
from struct import pack
from typing import TYPE_CHECKING, Any

from lakesieve.planner import PROTOCOL
from lakesieve.spark.versions.callbacks import Callback, hear_callbacks
from lakesieve.spark.versions.jar import own_class

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession
    from tests.spark.rows.restriction import Ranges

__all__ = ["RowPlanner"]

_SECRET = bytes(16)


class RowPlanner:
    """The rule of a session, with answers like those of an index that covers some files.

    Args:
        spark: The session, which gets the rule.
    """

    def __init__(self, spark: SparkSession) -> None:
        hear_callbacks(spark)
        # by identity of a file: its rows, ``None`` for all of them, and no entry of a skipped file
        self.wanted: Mapping[str, Ranges | None] = {}
        self.files: list[str] = []
        self._calls = 0
        self._callback = Callback(self._answer)
        self._java = own_class(spark, "rule.InstalledRule")(
            spark._jsparkSession, self._callback, None
        )
        self._java.rule().setActive(True)
        self._java.place(True, False)

    def remove(self) -> None:
        """Take the rule out of the session."""
        self._java.place(False, False)

    def choose(self, files: list[str], wanted: Mapping[str, Ranges | None]) -> None:
        """Answer from now on with these files and rows."""
        # another catalogue, as a known one never changes
        self._calls += 1
        self.files, self.wanted = files, wanted

    def report(self) -> list[dict[str, Any]]:
        """Return the report of the latest query."""
        report: list[dict[str, Any]] = json.loads(self._java.rule().report())
        return report

    def _answer(self, text: str) -> str:
        request = json.loads(text)
        if "ticket" in request:
            digests = b"".join(sha256(_SECRET + f.encode()).digest()[:16] for f in self.files)
            return json.dumps({"version": PROTOCOL, "digests": _text(digests)})
        bits = bytearray(len(self.files) // 8 + 1)
        counts, ranges = b"", b""
        for at, file in enumerate(self.files):
            if file not in self.wanted:
                continue
            bits[at // 8] |= 1 << at % 8
            rows = self.wanted[file]
            counts += pack("<I", len(rows or ()))
            for start, end in rows or ():
                ranges += pack("<qq", start, end)
        keep = {
            "index": 0,
            "keep": _text(bytes(bits)),
            "counts": _text(counts),
            "rows": _text(ranges),
        }
        name = f"{id(self)}-{self._calls}"
        scans = [
            {
                "id": scan["id"],
                "catalogues": [[[name, len(self.files)]]],
                "keep": keep,
                "indexes": ["rows"],
                "leading": [],
                "reasons": [],
                "predicate": "chosen",
            }
            for scan in request["scans"]
        ]
        return json.dumps(
            {"version": PROTOCOL, "secret": _text(_SECRET), "ticket": "rows", "scans": scans}
        )


def _text(content: bytes) -> str:
    return b64encode(content).decode()
