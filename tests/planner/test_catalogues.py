"""The engine is sent digests of the data files that it does not have, in parts, and no paths."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import TYPE_CHECKING, Any

from tests.index.test_waiting import local_index
from tests.planner.engine import request
from tests.planner.scans import scan_at
from tests.store.samples import batch, data_files

from lakesieve.planner import Planner
from lakesieve.storage import open_storage
from lakesieve.store import DIGEST_BYTES, IndexStore

if TYPE_CHECKING:
    from pathlib import Path


def answer_of(planner: Planner, table: str, known: dict[str, bytes]) -> dict[str, Any]:
    """The answer for a scan, after which the engine has all catalogues it needs."""
    text = request(scan_at(table), catalogues=list(known))
    answer: dict[str, Any] = json.loads(planner.answer(text))
    for name, files in answer["scans"][0]["catalogues"][0]:
        digests = known.get(name, b"")
        while len(digests) < files * DIGEST_BYTES:
            following = {"version": 2, "ticket": answer["ticket"], "catalogue": name}
            following |= {"from": len(digests) // DIGEST_BYTES}
            result = json.loads(planner.answer(json.dumps(following)))["digests"]
            assert result
            digests += base64.b64decode(result)
        known[name] = digests
    return answer


def test_a_refresh_sends_what_is_new(tmp_path: Path) -> None:
    """Each catalogue is sent once, 16 bytes a file, in parts of bounded size."""
    planner, table = Planner(digests_at_once=3), local_index(tmp_path)
    known: dict[str, bytes] = {}
    secret = base64.b64decode(answer_of(planner, table, known)["secret"])
    (first,) = known
    digests = [hashlib.sha256(secret + path.encode()).digest()[:16] for path in data_files(0)]
    assert known[first] == b"".join(digests)

    storage = open_storage(str(tmp_path / "_lakesieve" / "k"))
    store = IndexStore(storage)
    store.commit(store.snapshot(), batch(storage, 100))
    answer = answer_of(planner, table, known)

    assert answer["scans"][0]["catalogues"][0][0][0] == first
    assert len(known) == 2
    assert vars(planner)["_tickets"] == {}
    bits = base64.b64decode(answer["scans"][0]["keep"]["keep"])
    # of the eight files, the one that holds 7
    assert bits == bytes([1 << 7 % 4])


def test_digests_that_are_gone_are_refused(tmp_path: Path) -> None:
    """What a ticket does not have, or has no more, is said with a code."""
    planner, table = Planner(), local_index(tmp_path)
    answer = answer_of(planner, table, {})
    ((name, _),) = answer["scans"][0]["catalogues"][0]
    for ticket, catalogue in ((answer["ticket"], name), ("none", name)):
        wanted = {"version": 2, "ticket": ticket, "catalogue": catalogue, "from": 0}
        refused = json.loads(planner.answer(json.dumps(wanted)))
        assert refused["refusal"]["code"] == "internal-error"
        assert "digests" not in refused
