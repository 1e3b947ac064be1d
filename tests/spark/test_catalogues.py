"""The rule is sent digests of the data files that it does not have, in parts, and no paths."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import TYPE_CHECKING, Any

from tests.index.test_waiting import local_index
from tests.spark.test_planning_time import request
from tests.store.samples import batch, data_files

from lakesieve.spark.rule.planning import Pruner
from lakesieve.storage import open_storage
from lakesieve.store import DIGEST_BYTES, IndexStore

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def answer_of(pruner: Pruner, table: str, known: dict[str, bytes]) -> dict[str, Any]:
    """The answer for a scan, after which the rule has all catalogues it needs."""
    body = json.loads(request(table, 1, 10)) | {"catalogues": list(known)}
    answer: dict[str, Any] = json.loads(pruner.answer(json.dumps(body)))
    for name, files in answer["scans"][0]["catalogues"][0]:
        digests = known.get(name, b"")
        while len(digests) < files * DIGEST_BYTES:
            following = {"ticket": answer["ticket"], "catalogue": name}
            following |= {"from": len(digests) // DIGEST_BYTES}
            result = pruner.answer(json.dumps(following))
            assert result
            digests += base64.b64decode(result)
        known[name] = digests
    return answer


def test_a_refresh_sends_what_is_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each catalogue is sent once, 16 bytes a file, in parts of bounded size."""
    monkeypatch.setattr("lakesieve.spark.rule.planning._MAX_DIGESTS", 3)
    pruner, table = Pruner(), local_index(tmp_path)
    known: dict[str, bytes] = {}
    secret = base64.b64decode(answer_of(pruner, table, known)["secret"])
    (first,) = known
    digests = [hashlib.sha256(secret + path.encode()).digest()[:16] for path in data_files(0)]
    assert known[first] == b"".join(digests)

    storage = open_storage(str(tmp_path / "_lakesieve" / "k"))
    store = IndexStore(storage)
    store.commit(store.snapshot(), batch(storage, 100))
    answer = answer_of(pruner, table, known)

    assert answer["scans"][0]["catalogues"][0][0][0] == first
    assert len(known) == 2
    assert vars(pruner)["_tickets"] == {}
    bits = base64.b64decode(answer["scans"][0]["keep"]["keep"])
    # of the eight files, the one that holds 7
    assert bits == bytes([1 << 7 % 4])
