"""Where credentials come from, and that refused credentials are read again."""

from __future__ import annotations

import pickle
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from lakesieve.errors import ErrorKind, StorageError
from lakesieve.storage import TRUSTED_ROOTS, StorageOptions, open_storage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

EXPIRED = b"<Error><Code>ExpiredToken</Code><Message>It has expired.</Message></Error>"


class _Store(BaseHTTPRequestHandler):
    """A server that accepts one access key at a time, and counts its requests."""

    key = ""
    requests: list[str]
    tokens: list[str | None]

    def do_GET(self) -> None:
        """Answer requests that are signed with the key."""
        header = self.headers.get("Authorization", "")
        self.requests.append(header)
        self.tokens.append(self.headers.get("x-amz-security-token"))
        known = f"Credential={self.key}/" in header
        body = b"held" if known else EXPIRED
        self.send_response(200 if known else 403)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Last-Modified", "Mon, 01 Jan 2024 00:00:00 GMT")
        self.send_header("ETag", '"1"')
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - of the base class
        """Say nothing."""


@pytest.fixture
def serve() -> Iterator[Callable[[str], tuple[type[_Store], str]]]:
    """Start a store that accepts a key; return its handler and its address."""
    started: list[ThreadingHTTPServer] = []

    def start(key: str) -> tuple[type[_Store], str]:
        handler = type("Known", (_Store,), {"key": key, "requests": [], "tokens": []})
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        started.append(server)
        return handler, f"http://127.0.0.1:{server.server_address[1]}"

    yield start
    for server in started:
        server.shutdown()
        server.server_close()


def _conf(address: str, key: str) -> dict[str, str]:
    return {
        "fs.s3a.endpoint": address,
        "fs.s3a.endpoint.region": "us-east-1",
        "fs.s3a.access.key": key,
        "fs.s3a.secret.key": "x",
        "fs.s3a.path.style.access": "true",
    }


def test_expired_keys_are_read_again(serve: Callable[[str], tuple[type[_Store], str]]) -> None:
    """When the store refuses the old settings, the current settings are used."""
    store, address = serve("first")
    conf = _conf(address, "first")
    options = StorageOptions(conf=dict(conf), source=lambda: conf)
    storage = open_storage("s3://b/x", options("s3://b/x"), renew=options.renewed)
    assert storage.get("a") == b"held"

    store.key = conf["fs.s3a.access.key"] = "second"
    store.requests.clear()
    assert storage.child("y").get("a") == b"held"
    assert len(store.requests) == 2
    # from then on without a refusal
    assert storage.child("y").get("a") == b"held"
    assert len(store.requests) == 3
    # settings that lead nowhere are refused after one more try
    store.key = "third"
    store.requests.clear()
    with pytest.raises(StorageError) as caught:
        storage.get("a")
    assert caught.value.kind is ErrorKind.CREDENTIALS
    assert len(store.requests) == 2


def test_keys_that_a_catalog_lends_are_requested_again(
    serve: Callable[[str], tuple[type[_Store], str]],
) -> None:
    """When old keys expire, the new keys of the table's file IO are used."""
    store, address = serve("first")
    vended = {"s3.access-key-id": "first", "s3.secret-access-key": "x", "s3.session-token": "one"}
    conf = {name: item for name, item in _conf(address, "").items() if ".key" not in name}
    options = StorageOptions(conf=conf, file_io=dict(vended), vended=lambda: vended)
    storage = open_storage("s3://b/x", options("s3://b/x"), renew=options.renewed)
    assert storage.get("a") == b"held"

    store.key = vended["s3.access-key-id"] = "second"
    vended["s3.session-token"] = "two"
    assert storage.child("y").get("a") == b"held"
    assert store.tokens == ["one", "one", "two"]


def test_keys_of_the_environment_are_read_again(
    serve: Callable[[str], tuple[type[_Store], str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Expired keys from the environment are read again, if the settings have none."""
    store, address = serve("first")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "first")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    conf = {name: item for name, item in _conf(address, "").items() if ".key" not in name}
    storage = open_storage("s3://b/x", StorageOptions(conf=conf)("s3://b/x"))
    assert storage.get("a") == b"held"

    store.key = "second"
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "second")
    assert storage.get("a") == b"held"


def test_tasks_are_sent_settings_alone(
    serve: Callable[[str], tuple[type[_Store], str]],
) -> None:
    """Pickling a storage leaves out the function that renews settings."""
    _, address = serve("first")
    lock = threading.Lock()  # like a session, it cannot be sent
    options = StorageOptions(conf=_conf(address, "first"), source=lambda: {"lock": str(lock)})
    storage = open_storage("s3://b/x", options("s3://b/x"), renew=options.renewed)

    sent = pickle.loads(pickle.dumps(storage))

    assert sent == storage
    assert sent.renew is None
    assert sent.get("a") == b"held"


def test_no_machine_is_queried_for_keys_where_there_are_some(
    serve: Callable[[str], tuple[type[_Store], str]],
) -> None:
    """With keys, no request goes to the machine's metadata service, even after a refusal."""
    _, address = serve("first")
    metadata, other = serve("none")
    for key in ("first", "wrong"):
        result = StorageOptions(conf=_conf(address, key))("s3://b/x")
        storage = open_storage("s3://b/x", result | {"metadata_endpoint": other})
        if key == "first":
            assert storage.get("a") == b"held"
        else:
            with pytest.raises(StorageError):
                storage.get("a")
    assert metadata.requests == []


def test_iceberg_settings_fill_what_hadoop_leaves_open() -> None:
    """All keys come from one source; other settings come from any source, Hadoop's first."""
    file_io = {
        "s3.access-key-id": "i",
        "s3.secret-access-key": "is",
        "s3.session-token": "it",
        "s3.endpoint": "http://iceberg:9000",
        "s3.path-style-access": "true",
        "client.region": "eu-west-1",
        "s3.delete-enabled": "true",
    }
    alone = StorageOptions(conf={}).of_table(file_io)
    assert alone("s3a://b/x") == {
        "access_key_id": "i",
        "secret_access_key": "is",
        "session_token": "it",
        "endpoint": "http://iceberg:9000",
        "allow_http": "true",
        "virtual_hosted_style_request": "false",
        "region": "eu-west-1",
    }
    conf = {"fs.s3a.access.key": "h", "fs.s3a.secret.key": "hs"}
    both = StorageOptions(conf=conf).of_table(file_io)("s3://b/x")
    keys = {name: item for name, item in both.items() if name.endswith(("_key", "_id", "_token"))}
    assert keys == {"access_key_id": "h", "secret_access_key": "hs"}
    assert both["endpoint"] == "http://iceberg:9000"
    assert alone("/data/x") == alone("gs://b/x") == {}


def test_keys_that_are_given_are_not_mixed_with_others(
    serve: Callable[[str], tuple[type[_Store], str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session token from the environment is not sent with keys from the settings."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "of-the-environment")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "of-the-environment")
    store, address = serve("first")
    conf = _conf(address, "first")
    for given in (None, "given"):
        result = conf | ({"fs.s3a.session.token": given} if given else {})
        storage = open_storage("s3://b/x", StorageOptions(conf=result)("s3://b/x"))
        assert storage.get("a") == b"held"
        assert store.tokens.pop() == given


def test_buckets_renew_their_own_settings(
    serve: Callable[[str], tuple[type[_Store], str]],
) -> None:
    """New keys of one bucket are not used for another bucket that had the same old keys."""
    store, address = serve("new-a")
    conf = _conf(address, "old")
    renewed = conf | {"fs.s3a.bucket.a.access.key": "new-a"}
    options = StorageOptions(conf=conf, source=lambda: renewed)
    first, second = (
        open_storage(location, options(location), renew=options.renewed)
        for location in ("s3://a", "s3://c")
    )

    assert first.get("x") == b"held"
    store.key = "old"
    store.requests.clear()
    assert second.get("x") == b"held"
    assert len(store.requests) == 1


def test_expired_keys_do_not_lead_to_those_of_others(
    serve: Callable[[str], tuple[type[_Store], str]],
) -> None:
    """A caller with expired keys does not get the keys that another session renewed."""
    store, address = serve("second")
    old, new = _conf(address, "first"), _conf(address, "second")
    session = StorageOptions(conf=old, source=lambda: new)
    stranger = StorageOptions(conf=old, source=lambda: old)
    of_session, of_stranger = (
        open_storage("s3://b/x", options("s3://b/x"), renew=options.renewed)
        for options in (session, stranger)
    )

    assert of_session.get("a") == b"held"
    with pytest.raises(StorageError) as caught:
        of_stranger.get("a")
    assert caught.value.kind is ErrorKind.CREDENTIALS
    assert "Credential=second/" not in store.requests[-1]


def test_new_keys_lead_to_no_other_endpoint(
    serve: Callable[[str], tuple[type[_Store], str]],
) -> None:
    """Renewed settings change only the credentials, not the endpoint."""
    _, address = serve("second")
    other, elsewhere = serve("second")
    options = StorageOptions(
        conf=_conf(address, "first"), source=lambda: _conf(elsewhere, "second")
    )
    storage = open_storage("s3://b/x", options("s3://b/x"), renew=options.renewed)

    assert storage.get("a") == b"held"
    assert other.requests == []


def test_a_storage_is_known_by_its_endpoint_and_credentials() -> None:
    """Cache keys differ by endpoint and credentials, contain no secret, and ignore trust."""

    def identity(endpoint: str, key: str, trusted: str = "") -> tuple[str, str]:
        options = StorageOptions(conf=_conf(endpoint, key) | {TRUSTED_ROOTS: trusted})
        storage = open_storage("s3://b/x", options("s3://b/x"), renew=options.renewed)
        return storage.identity

    known = identity("http://one", "canary-key")
    assert known == identity("http://one", "canary-key", trusted="s3://c/d")
    assert known != identity("http://two", "canary-key")
    assert known != identity("http://one", "other-key")
    assert "canary" not in repr(known)
