"""A NameNode and a DataNode of Hadoop on loopback, beside the servers of object stores.

``python -m tests.storage.hdfs_server`` loads what is to be loaded, once and for all later runs.
"""

from __future__ import annotations

import functools
import subprocess
import tempfile
import time
from typing import TYPE_CHECKING

import hdfs_native
from tests.jars import java_program, resolved, spark_jars
from tests.ports import free_port
from tests.storage.s3_servers import ended_with_the_tests

if TYPE_CHECKING:
    from pathlib import Path

HADOOP = "3.4.2"
_SERVERS = f"org.apache.hadoop:hadoop-client-minicluster:{HADOOP}"
# Spark has the rest
_LEFT_OUT = ("org.apache.hadoop:hadoop-client-api", "org.apache.hadoop:hadoop-client-runtime")
_NODE = "org.apache.hadoop.hdfs.server"


@functools.cache
def hdfs_root() -> str:
    """The file system's address; it is started by whoever asks first and ends with the tests."""
    port, data_port = free_port(), free_port()
    folder = tempfile.mkdtemp(prefix="lakesieve-hdfs-")
    address = f"hdfs://127.0.0.1:{port}"
    settings = {
        "fs.defaultFS": address,
        "dfs.replication": "1",
        "dfs.namenode.name.dir": f"{folder}/name",
        "dfs.namenode.http-address": "127.0.0.1:0",
        "dfs.datanode.data.dir": f"{folder}/data",
        "dfs.datanode.address": f"127.0.0.1:{data_port}",
        "dfs.datanode.http.address": "127.0.0.1:0",
        "dfs.datanode.ipc.address": "127.0.0.1:0",
        "dfs.datanode.hostname": "127.0.0.1",
    }
    options = [part for name, value in settings.items() for part in ("-D", f"{name}={value}")]
    opens = "--add-opens=java.base/java.lang=ALL-UNNAMED"
    java = java_program([spark_jars(), *_servers()], opens)
    name_node = [*java, f"{_NODE}.namenode.NameNode", *options]
    subprocess.run([*name_node, "-format", "-nonInteractive"], check=True, capture_output=True)
    ended_with_the_tests(name_node, port, folder)
    ended_with_the_tests([*java, f"{_NODE}.datanode.DataNode", *options], data_port, folder)
    _wait_for_a_block(address)
    return address


def _wait_for_a_block(address: str) -> None:
    """Wait until the NameNode knows the DataNode."""
    client = hdfs_native.Client(address, {})
    deadline = time.monotonic() + 60
    while True:
        try:
            options = hdfs_native.WriteOptions(overwrite=True)
            with client.create("/started", options) as writer:
                writer.write(b"1")
        except (OSError, RuntimeError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
        else:
            return


def _servers() -> list[Path]:
    """The jars of Hadoop's servers."""
    return resolved(_SERVERS, excludes=_LEFT_OUT)


if __name__ == "__main__":
    _servers()
