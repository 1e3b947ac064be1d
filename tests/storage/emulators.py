"""Emulators of Azure's and Google's object stores on loopback, beside the servers of S3 and HDFS.

``python -m tests.storage.emulators`` installs what is to be installed, once and for all later runs.
"""

from __future__ import annotations

import atexit
import base64
import functools
import hashlib
import hmac
import itertools
import json
import shutil
import subprocess
import tempfile
import threading
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

import httpx
import pytest
from tests.ports import free_port
from tests.storage.hdfs_server import hdfs_root
from tests.storage.s3_servers import (
    BUCKET,
    CACHE,
    SERVERS,
    ended_with_the_tests,
    go_installed,
    once,
    s3_storage,
)

from lakesieve.storage import Storage, hadoop_options, open_storage

if TYPE_CHECKING:
    from pathlib import Path

AZURITE = "3.35.0"
FAKE_GCS = "v1.56.1"
ACCOUNT = "devstoreaccount1"
# Azurite's own, which is public
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
HOST = f"{ACCOUNT}.dfs.core.windows.net"
# where there is no npm or no Go, there is no such server, and no test for it
EMULATORS = [
    *(["azure"] if shutil.which("npm") else []),
    *(["google"] if shutil.which("go") else []),
]
STORES = [*SERVERS, *EMULATORS, "hdfs"]
# HDFS takes half a second for a file
STORES_IN_TIME = [*SERVERS, *EMULATORS, pytest.param("hdfs", marks=pytest.mark.soak)]
_places = itertools.count()


def storage_in(store: str) -> Storage:
    """A fresh root in a store, reached by the settings that Hadoop has for it."""
    if store in SERVERS:
        return s3_storage(store)
    place = next(_places)
    if store == "hdfs":
        return open_storage(f"{hdfs_root()}/{place}/t")
    if store == "google":
        location = f"gs://{BUCKET}/{place}/t"
        conf = {"fs.gs.storage.root.url": _google(), "fs.gs.auth.type": "UNAUTHENTICATED"}
        return open_storage(location, hadoop_options(conf, location))
    location = f"abfss://{BUCKET}@{HOST}/{place}/t"
    conf = {f"fs.azure.account.key.{HOST}": KEY}
    # Hadoop has no setting for it: the account's host is the address
    endpoint = {"endpoint": f"{_azure()}/{ACCOUNT}", "allow_http": "true"}
    return open_storage(location, hadoop_options(conf, location) | endpoint)


@functools.cache
def _azure() -> str:
    port = free_port()
    folder = tempfile.mkdtemp(prefix="lakesieve-azure-")
    command = [str(_azurite()), "--blobHost", "127.0.0.1", "--blobPort", str(port)]
    ended_with_the_tests(
        [*command, "--location", folder, "--silent", "--skipApiVersionCheck"], port, folder
    )
    address = f"http://127.0.0.1:{port}"
    now = datetime.now(UTC).strftime("%a, %d %b %Y %H:%M:%S GMT")
    headers = f"x-ms-date:{now}\nx-ms-version:2021-08-06"
    signed = "PUT" + "\n" * 12 + f"{headers}\n/{ACCOUNT}/{ACCOUNT}/{BUCKET}\nrestype:container"
    key = hmac.new(base64.b64decode(KEY), signed.encode(), hashlib.sha256).digest()
    httpx.put(
        f"{address}/{ACCOUNT}/{BUCKET}?restype=container",
        headers=dict(line.split(":", 1) for line in headers.split("\n"))
        | {"Authorization": f"SharedKey {ACCOUNT}:{base64.b64encode(key).decode()}"},
    ).raise_for_status()
    return address


def _azurite() -> Path:
    folder = CACHE / f"azurite-{AZURITE}"
    program = folder / "node_modules" / ".bin" / "azurite-blob"
    command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder)]
    with once(folder):
        if not program.exists():
            subprocess.run([*command, f"azurite@{AZURITE}"], check=True, capture_output=True)
    return program


@functools.cache
def _google() -> str:
    port = free_port()
    program = go_installed("github.com/fsouza/fake-gcs-server", FAKE_GCS)
    where = ["-scheme", "http", "-host", "127.0.0.1", "-port", str(port)]
    kind = ["-backend", "memory", "-public-host", f"127.0.0.1:{port}", "-log-level", "error"]
    folder = tempfile.mkdtemp(prefix="lakesieve-google-")
    ended_with_the_tests([str(program), *where, *kind], port, folder)
    server = f"http://127.0.0.1:{port}"
    httpx.post(f"{server}/storage/v1/b", json={"name": BUCKET}).raise_for_status()
    handler = type("Handler", (_Puts,), {"client": httpx.Client(base_url=server)})
    before = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=before.serve_forever, daemon=True).start()
    atexit.register(before.shutdown)
    return f"http://127.0.0.1:{before.server_port}"


class _Puts(BaseHTTPRequestHandler):
    """Passes requests on; a PUT as the upload that the emulator knows, with its condition."""

    protocol_version = "HTTP/1.1"
    # else each answer waits 40 ms for the client
    wbufsize = -1
    disable_nagle_algorithm = True
    client: httpx.Client

    def _pass(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        names = ("Range", "If-Match", "If-None-Match")
        headers = {name: value for name in names if (value := self.headers.get(name))}
        self._answer(self.client.request(self.command, self.path, content=body, headers=headers))

    do_GET = do_HEAD = do_DELETE = do_POST = _pass  # noqa: N815 -- as the base class calls them

    def do_PUT(self) -> None:
        """Upload an object."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        bucket, _, name = self.path.lstrip("/").partition("/")
        target = f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name={quote(unquote(name), '')}"
        condition = self.headers.get("x-goog-if-generation-match")
        if condition is not None:
            target += f"&ifGenerationMatch={condition}"
        done = self.client.post(target, content=body)
        etag = {"ETag": json.loads(done.content)["etag"]} if done.is_success else {}
        self._answer(done, etag)

    def _answer(self, response: httpx.Response, more: dict[str, str] | None = None) -> None:
        self.send_response(response.status_code)
        skipped = {"transfer-encoding", "connection", "content-length", "content-encoding"}
        for name, value in {**response.headers, **(more or {})}.items():
            if name.lower() not in skipped:
                self.send_header(name, value)
        length = response.headers.get("Content-Length") if self.command == "HEAD" else None
        self.send_header("Content-Length", length or str(len(response.content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(response.content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


if __name__ == "__main__":
    if "azure" in EMULATORS:
        _azurite()
    if "google" in EMULATORS:
        go_installed("github.com/fsouza/fake-gcs-server", FAKE_GCS)
