"""S3 servers on loopback, started by the first test that needs one and ended with the tests.

``python -m tests.storage.s3_servers`` builds what is to be built, once and for all later runs.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import functools
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tests.ports import free_port, wait_until_it_listens

from lakesieve.storage import Storage, hadoop_options, open_storage

if TYPE_CHECKING:
    from collections.abc import Iterator

VERSITY = "v1.8.0"
ACCESS, SECRET, BUCKET = "access-key", "kept-out-of-sight", "bucket"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lakesieve-tests"
# where there is no Go, there is no such server, and no test for it
SERVERS = ["moto", *(["versity"] if shutil.which("go") else [])]
OTHER_SERVER = "moto-2"
"""Another server, for the same locations with other objects."""
_places = itertools.count()


def s3_storage(server: str) -> Storage:
    """A fresh root in a bucket of a server."""
    location = f"s3a://{BUCKET}/{next(_places)}/t"
    return open_storage(location, hadoop_options(hadoop_settings(server), location))


def hadoop_settings(server: str) -> dict[str, str]:
    """The settings with which Hadoop would reach a server."""
    return {
        "fs.s3a.endpoint": f"http://127.0.0.1:{_port(server)}",
        "fs.s3a.endpoint.region": "us-east-1",
        "fs.s3a.access.key": ACCESS,
        "fs.s3a.secret.key": SECRET,
        "fs.s3a.path.style.access": "true",
    }


@functools.cache
def _port(server: str) -> int:
    port = free_port()
    folder = tempfile.mkdtemp(prefix="lakesieve-s3-")
    command = _versity(port, folder) if server == "versity" else _moto(port)
    ended_with_the_tests(command, port, folder)
    _make_bucket(port)
    return port


def ended_with_the_tests(command: list[str], port: int, folder: str) -> None:
    """Start a server and wait until it answers; it ends with this process.

    Args:
        command: What starts it.
        port: Where it listens.
        folder: What it works in, which goes with it.
    """
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder
    )
    atexit.register(_end, process, folder)
    wait_until_it_listens(process, port, seconds=30)


def _moto(port: int) -> list[str]:
    return [sys.executable, str(Path(__file__).with_name("moto_server.py")), str(port)]


def _versity(port: int, folder: str) -> list[str]:
    address = f"127.0.0.1:{port}"
    keys = ["--access", ACCESS, "--secret", SECRET]
    program = go_installed("github.com/versity/versitygw/cmd/versitygw", VERSITY)
    return [str(program), *keys, "--port", address, "posix", folder]


@contextlib.contextmanager
def once(folder: Path) -> Iterator[None]:
    """Do in one process at a time what takes minutes.

    Args:
        folder: What is done there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def go_installed(package: str, version: str) -> Path:
    """A program of a Go package, built once and for all later runs.

    Args:
        package: The package's path.
        version: Its version.
    """
    name = package.rpartition("/")[2]
    folder = CACHE / f"{name}-{version}"
    with once(folder):
        if not (folder / name).exists():
            subprocess.run(
                ["go", "install", f"{package}@{version}"],
                check=True,
                env=os.environ | {"GOBIN": str(folder)},
                capture_output=True,
            )
    return folder / name


def _make_bucket(port: int) -> None:
    import boto3

    boto3.client(
        "s3",
        endpoint_url=f"http://127.0.0.1:{port}",
        region_name="us-east-1",
        aws_access_key_id=ACCESS,
        aws_secret_access_key=SECRET,
    ).create_bucket(Bucket=BUCKET)


def _end(process: subprocess.Popen[bytes], folder: str) -> None:
    process.terminate()
    process.wait(10)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    if "versity" in SERVERS:
        go_installed("github.com/versity/versitygw/cmd/versitygw", VERSITY)
