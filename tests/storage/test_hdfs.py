"""HDFS: leftovers of dead writers, refusals of the NameNode, and settings of the session."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import hdfs_native
import pytest
from tests.ports import free_port
from tests.storage.emulators import storage_in
from tests.storage.hdfs_server import hdfs_root

from lakesieve.errors import ErrorKind, InvalidInputError, SetupError, StorageError
from lakesieve.storage import hadoop_options, open_storage

NAME_SERVICE = {
    "dfs.ha.namenodes.Lake": "a,b",
    "dfs.namenode.rpc-address.Lake.a": "",
    "dfs.namenode.rpc-address.Lake.b": "",
    "dfs.client.failover.sleep.base.millis": "1",
    "dfs.client.failover.max.attempts": "3",
}


def test_what_a_dead_writer_left_is_swept() -> None:
    """A file that was never renamed is not listed, and is deleted once it is old."""
    storage = storage_in("hdfs")
    storage.create("log/0.json", b"whole")
    client = hdfs_native.Client(hdfs_root(), {})
    folder = storage.location.removeprefix(hdfs_root())
    names = re.compile(r"log/\d\.json")
    with client.create(f"{folder}/log/1.json.{'7' * 32}#0") as writer:
        writer.write(b"ha")
    with client.create(f"{folder}/notes#0") as writer:
        writer.write(b"of somebody else")

    assert [info.path for info in storage.objects("log/")] == ["log/0.json"]
    now = datetime.now(UTC)
    assert storage.sweep(now - timedelta(hours=1), names) == 0
    assert storage.sweep(now + timedelta(hours=1), names) == 1
    assert storage.sweep(now + timedelta(hours=1), names) == 0
    assert storage.get("log/0.json") == b"whole"


def test_a_refused_create_leaves_nothing() -> None:
    """The staged file of a refused create is deleted at once."""
    storage = storage_in("hdfs")
    storage.create("x", b"first")
    with pytest.raises(StorageError) as caught:
        storage.create("x", b"second")

    assert caught.value.kind is ErrorKind.ALREADY_EXISTS
    assert "at org.apache" not in str(caught.value)
    client = hdfs_native.Client(hdfs_root(), {})
    root = storage.location.removeprefix(hdfs_root())
    assert [status.path for status in client.list_status(root)] == [f"{root}/x"]


def test_another_users_folder_says_so() -> None:
    """A user without permission gets one line that suggests another location."""
    program = (
        "import sys; from lakesieve.storage import open_storage;"
        "open_storage(sys.argv[1]).create('x', b'1')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, f"{hdfs_root()}/not-of-bob"],
        env=os.environ | {"HADOOP_USER_NAME": "bob"},
        capture_output=True,
        text=True,
        check=False,
    )

    last = done.stderr.strip().splitlines()[-1]
    assert "permission denied" in last
    assert "--location" in last


def test_the_namenode_that_answers_is_found() -> None:
    """If a name service has several NameNodes, the active one is used."""
    address = hdfs_root().removeprefix("hdfs://")
    conf = NAME_SERVICE | {
        "dfs.namenode.rpc-address.Lake.a": f"127.0.0.1:{free_port()}",
        "dfs.namenode.rpc-address.Lake.b": address,
        "dfs.replication": "of no interest",
    }
    options = hadoop_options(conf, "hdfs://Lake/service")
    storage = open_storage("hdfs://Lake/service", options)
    storage.create("x", b"1")

    assert options.keys() == conf.keys() - {"dfs.replication"}
    assert open_storage(f"{hdfs_root()}/service").get("x") == b"1"


def test_a_file_system_that_is_away() -> None:
    """If no NameNode answers, a storage error names the location."""
    away = f"127.0.0.1:{free_port()}"
    conf = NAME_SERVICE | {
        "dfs.namenode.rpc-address.Lake.a": away,
        "dfs.namenode.rpc-address.Lake.b": away,
    }
    with pytest.raises(StorageError, match="hdfs://Lake/t/x") as caught:
        open_storage("hdfs://Lake/t", hadoop_options(conf, "hdfs://Lake/t")).get("x")
    assert caught.value.kind is ErrorKind.STORAGE_FAILED


@pytest.mark.parametrize("location", ["hdfs:///t/x", "hdfs:/t/x", "hdfs:t"])
def test_a_location_without_its_file_system(location: str) -> None:
    """A location without its file system is refused, although Hadoop has a default."""
    with pytest.raises(InvalidInputError, match="hdfs://NAMESERVICE/"):
        open_storage(location)


def test_the_package_that_is_needed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the client package, the error says what to install."""
    monkeypatch.setitem(sys.modules, "hdfs_native", None)

    with pytest.raises(SetupError, match=r"lakesieve\[hdfs\]"):
        open_storage("hdfs://never:1/x").get("y")
