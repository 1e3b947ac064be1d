"""Event logs on S3: whole, rolled, in folders, and on a server that is not reachable."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.advisor.test_event_log import TABLE, compared, point, query
from tests.advisor.test_log_files import arrow
from tests.ports import free_port
from tests.storage.s3_servers import SERVERS, hadoop_settings, s3_storage

from lakesieve.advisor.event_log import read_event_logs
from lakesieve.errors import StorageError
from lakesieve.storage import StorageOptions

if TYPE_CHECKING:
    from lakesieve.storage import Storage


def _options(server: str, **others: str) -> StorageOptions:
    conf = hadoop_settings(server) | {f"fs.s3a.{name}": value for name, value in others.items()}
    return StorageOptions(conf=conf)


def _write(storage: Storage, path: str, key: int) -> None:
    events = b"\n".join(json.dumps(event).encode() for event in query(key, point(key)))
    data = events + b"\n"
    storage.create(path, arrow("zstd")(data) if ".zstd" in path else data)


@pytest.mark.parametrize("server", SERVERS)
def test_every_place(server: str) -> None:
    """A file, a rolled log, and a folder of both are read."""
    storage = s3_storage(server)
    _write(storage, "app-1", 1)
    _write(storage, "app-2.zstd", 2)
    _write(storage, "eventlog_v2_app-3/events_1_app-3.zstd", 3)
    _write(storage, "eventlog_v2_app-3/events_2_app-3.zstd", 4)
    storage.create("eventlog_v2_app-3/appstatus_app-3", b"")
    places = {"app-1": [1], "app-2.zstd": [2], "eventlog_v2_app-3": [3, 4], "": [1, 2, 3, 4]}
    for place, keys in places.items():
        location = f"{storage.location}/{place}".rstrip("/")
        found = read_event_logs([location], [TABLE], _options(server))
        assert sorted(key for use in found.uses for key in compared(use)) == keys
        assert found.problems == ()


def test_server_that_is_gone() -> None:
    """A server that is not reachable is an error, not an empty log."""
    storage = s3_storage(SERVERS[0])
    _write(storage, "app-1", 1)
    nowhere = _options(SERVERS[0], endpoint=f"http://127.0.0.1:{free_port()}")
    with pytest.raises(StorageError):
        read_event_logs([storage.location], [TABLE], nowhere)
