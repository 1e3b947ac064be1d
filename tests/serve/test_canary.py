"""A secret in every setting that a server has, and no answer or line of the log that repeats it."""

from __future__ import annotations

import io
import logging
import uuid
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from starlette.applications import Starlette
from starlette.routing import Route
from tests.serve.running import Caller, running
from tests.serve.upstreams import tables_behind

import lakesieve as ls
from lakesieve.errors import ErrorKind, LakesieveError, StorageError
from lakesieve.printable import secrets_in, without_secrets
from lakesieve.serve.answers import answered
from lakesieve.serve.log_lines import JsonLines, TextLines
from lakesieve.serve.logs import conceal, concealed
from lakesieve.serve.planning import PlanningContext
from lakesieve.serve.run import guarded_app
from lakesieve.serve.settings import ServerSettings
from lakesieve.serve.upstream import build_proxy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from starlette.responses import Response

CANARY = "cAnArY/+4711"
QUOTED = quote(CANARY, safe="")
NOBODY = "http://127.0.0.1:9"
TABLE = "/v1/namespaces/db/tables/t"
SETTINGS = {
    "uri": f"sqlite:///file:{{folder}}/c.db?uri=true&password={QUOTED}",
    "warehouse": "{folder}",
    "token": CANARY,
    "credential": f"me:{CANARY}",
    "s3.endpoint": f"http://me:{QUOTED}@127.0.0.1:9",
    "s3.region": "us-east-1",
    "s3.access-key-id": f"id-{CANARY}",
    "s3.secret-access-key": CANARY,
    "s3.session-token": CANARY,
    "s3.connect-timeout": "1",
    "s3.request-timeout": "1",
    "gcs.oauth2.token": CANARY,
    "adls.account-key": CANARY,
    "adls.sas-token": CANARY,
    "adls.connection-string": f"AccountKey={CANARY}",
    "hf.token": CANARY,
    "header.Authorization": f"Bearer {CANARY}",
}
ENVIRONMENT = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AZURE_STORAGE_ACCOUNT_KEY")
# the first raises an error whose text holds what it is given
IMPORTABLE = ("ast.literal_eval", "builtins.print", "builtins.dict", "no.Such", "os", "")


class Log:
    """All that the loggers of this process write, as the server would write it."""

    def __init__(self) -> None:
        self._streams = [io.StringIO(), io.StringIO()]
        lines = (TextLines("%(levelprefix)s %(message)s", use_colors=False), JsonLines())
        self.handlers = []
        for stream, formatter in zip(self._streams, lines, strict=True):
            handler = logging.StreamHandler(stream)
            handler.setFormatter(formatter)
            self.handlers.append(handler)

    @property
    def text(self) -> str:
        """What was written until now."""
        return "".join(stream.getvalue() for stream in self._streams)


@pytest.fixture
def log() -> Iterator[Log]:
    """The log of the server of a test."""
    made, root = Log(), logging.getLogger()
    for handler in made.handlers:
        root.addHandler(handler)
    yield made
    for handler in made.handlers:
        root.removeHandler(handler)


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ServerSettings:
    """Of a server of a catalog with a table, the canary in each that may hold a secret."""
    for name, value in SETTINGS.items():
        variable = name.replace(".", "__").replace("-", "_").upper()
        monkeypatch.setenv(f"PYICEBERG_CATALOG__SHOP__{variable}", value.format(folder=tmp_path))
    for name in ENVIRONMENT:
        monkeypatch.setenv(name, CANARY)
    made = SqlCatalog("shop", uri=f"sqlite:///{tmp_path}/c.db", warehouse=str(tmp_path))
    made.create_namespace("db")
    made.create_table("db.t", schema=pa.schema([("id", pa.int64())])).append(pa.table({"id": [1]}))
    made.engine.dispose()
    return ServerSettings(catalog="shop")


def _updates() -> Iterator[Any]:
    """Updates of commits, of bad ones mostly."""
    for name in IMPORTABLE:
        for key in ("py-io-impl", "write.py-location-provider.impl"):
            yield {"action": "set-properties", "updates": {key: name}}
    yield {"action": "set-properties", "updates": {"s3.endpoint": NOBODY}}
    yield {"action": "set-properties", "updates": {"comment": "ours"}}
    yield {"action": "set-location", "location": "s3://elsewhere/t"}
    yield {"action": "remove-properties", "removals": ["none"]}
    yield {"action": "add-snapshot", "snapshot": {"snapshot-id": 1, "manifest-list": "s3://b/l"}}
    yield {"action": "add-schema", "schema": {"type": "struct", "fields": [5]}}
    yield {"action": "none"}


def _requests() -> Iterator[tuple[str, Any]]:
    """Requests of all kinds, with bad bodies mostly."""
    for update in _updates():
        yield TABLE, {"requirements": [], "updates": [update]}
    yield TABLE, {"requirements": [{"type": "assert-create"}], "updates": []}
    bodies: tuple[Any, ...] = ([], 5, None, {"updates": 5})
    for body in bodies:
        yield TABLE, body
    for condition in (5, {"type": "eq", "term": "none", "value": 1}, {"type": "in", "term": "id"}):
        yield f"{TABLE}/plan", {"filter": condition}
    yield f"{TABLE}/plan", {"snapshot-id": 5}
    yield f"{TABLE}/tasks", {"plan-task": "x"}


def _has(text: str) -> bool:
    return any(form in text for form in (CANARY, QUOTED, repr(CANARY)[1:-1], "cAnArY"))


def _seen(client: Caller, log: Log, most: int | None = None) -> int:
    """Ask for everything, look for the canary, and count the answers."""
    answers = [client.get(path) for path in ("/v1/config", "/v1/namespaces", TABLE, "/metrics")]
    answers += [client.post(path, json=body) for path, body in islice(_requests(), most)]
    for answer in answers:
        assert not _has(f"{answer.text} {answer.headers}")
    assert not _has(log.text)
    return len(answers)


def test_requests(settings: ServerSettings, log: Log) -> None:
    """Property commits, bad commits and bad filters say nothing of the settings."""
    assert _seen(Caller(guarded_app(settings)), log) > 30


@pytest.mark.parametrize(
    ("own", "said"),
    [
        (None, "The server cannot do that now; its log says why. Try again."),
        ("The table cannot be read.", "The table cannot be read. Try again."),
    ],
)
def test_words_of_other_programs(own: str | None, said: str) -> None:
    """What another program says of a failure is not in the answer, even if an error repeats it."""

    def fails(*_: Any) -> Response:
        try:
            raise OSError(CANARY)
        except OSError as error:
            raise StorageError(
                f"The table cannot be read: {error}",
                kind=ErrorKind.STORAGE_FAILED,
                hint="Try again.",
                public_message=own,
            ) from error

    answer = Caller(Starlette(routes=[Route("/t", answered(fails))])).get("/t")

    assert answer.status_code == 503
    assert answer.json()["error"]["message"] == said


@pytest.mark.parametrize("what", ["metadata", "table", "database"])
def test_storage_that_is_away(
    settings: ServerSettings, log: Log, tmp_path: Path, what: str
) -> None:
    """Nor do storage and databases that cannot be reached, whose errors are other programs'."""
    client = Caller(guarded_app(settings))
    own = SqlCatalog("shop", uri=f"sqlite:///{tmp_path}/c.db", warehouse=str(tmp_path))
    with own.engine.begin() as connection:
        if what == "database":
            connection.exec_driver_sql("DROP TABLE iceberg_tables")
        elif what == "metadata":
            connection.exec_driver_sql(
                "UPDATE iceberg_tables SET metadata_location = 's3://b/db/t/metadata/1.json'"
            )
    if what == "table":
        for path in (tmp_path / "db").rglob("*.avro"):
            path.unlink()
    assert client.post(f"{TABLE}/plan", json={}).status_code == 503
    # each request waits for that store
    _seen(client, log, most=1 if what == "metadata" else None)
    assert "WARNING" in log.text


def test_a_catalog_that_cannot_be_opened(
    settings: ServerSettings, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error at the start repeats no password of an address."""
    uris = (f"sqlite:///no/such/{QUOTED}", f"bad://me:{QUOTED}@127.0.0.1:9/x", f"::{CANARY}")
    # SQLAlchemy repeats this address
    for uri in (*uris, f"sqlite://host/x?password={QUOTED}"):
        monkeypatch.setenv("PYICEBERG_CATALOG__SHOP__TYPE", "sql")
        monkeypatch.setenv("PYICEBERG_CATALOG__SHOP__URI", uri)
        with pytest.raises(LakesieveError) as raised:
            guarded_app(settings)
        assert not _has(str(raised.value)), uri
    assert not _has(log.text)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://u:pa%2Fss-word@h/db",
        "postgresql://u:pa/ss-word@h/db",
        "postgresql://h/db?user=u&password=pa/ss-word",
    ],
)
def test_passwords_in_addresses(address: str) -> None:
    """The log conceals a password in every place where SQLAlchemy accepts one."""
    assert "pa/ss-word" in secrets_in({"uri": address})


def test_what_the_log_conceals(log: Log) -> None:
    """A concealed value is in no line of the log: neither in messages nor in exceptions."""
    conceal([CANARY])
    logger = logging.getLogger("lakesieve.serve.canary")
    try:
        raise OSError(f"refused {CANARY}")
    except OSError:
        logger.exception("loading with %s failed", CANARY, extra={"fields": {"key": CANARY}})

    assert log.text.count("loading with *** failed") == 2
    assert log.text.count("OSError: refused ***") == 2
    assert not _has(log.text)


def test_what_a_server_conceals(
    settings: ServerSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log leaves out secrets of the catalog and the environment, and the tokens of callers."""
    secrets = [uuid.uuid4().hex for _ in range(3)]
    monkeypatch.delenv("PYICEBERG_CATALOG__SHOP__TOKEN")
    monkeypatch.setenv("PYICEBERG_HOME", str(tmp_path))
    document = f"catalog:\n  shop:\n    token: {secrets[0]}\n"
    (tmp_path / ".pyiceberg.yaml").write_text(document)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", secrets[1])
    (tmp_path / "tokens").write_text(secrets[2])

    guarded_app(replace(settings, tokens=str(tmp_path / "tokens")))

    assert [concealed(secret) for secret in secrets] == ["***"] * 3


def test_users_in_addresses() -> None:
    """A user and a password in an address are concealed, even if the password is not known."""
    said = without_secrets("cannot reach ftp://me:pw@host/x", ())
    assert said == "cannot reach ftp://***@host/x"


def test_names_of_secrets() -> None:
    """Every setting in which this test plants a secret has a name by which the log conceals it."""
    planted = [name for name, value in SETTINGS.items() if CANARY in value and "://" not in value]
    assert [name for name in planted if not secrets_in({name: CANARY})] == []


def test_what_a_caller_and_the_catalog_behind_send(log: Log) -> None:
    """Neither a caller's token nor credentials that were lent are in a plan's error or the log."""
    location = "s3://b/t"
    lent = {name: value for name, value in SETTINGS.items() if name not in {"uri", "warehouse"}}
    metadata = {
        "format-version": 2,
        "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1",
        "location": location,
        "last-sequence-number": 1,
        "last-updated-ms": 1,
        "last-column-id": 1,
        "current-schema-id": 0,
        "schemas": [{"type": "struct", "schema-id": 0, "fields": []}],
        "default-spec-id": 0,
        "partition-specs": [{"spec-id": 0, "fields": []}],
        "last-partition-id": 999,
        "default-sort-order-id": 0,
        "sort-orders": [{"order-id": 0, "fields": []}],
        "current-snapshot-id": 1,
        "snapshots": [
            {"snapshot-id": 1, "timestamp-ms": 1, "sequence-number": 1, "schema-id": 0}
            | {"manifest-list": f"{location}/snap.avro", "summary": {"operation": "append"}}
        ],
    }
    loaded = {"metadata-location": f"{location}/v1.metadata.json", "metadata": metadata}
    with (
        running(tables_behind({TABLE: loaded | {"config": lent}})) as behind,
        running(build_proxy(behind, PlanningContext())) as address,
    ):
        client = Caller(address)
        for body in ({}, {"filter": 5}, {"filter": {"type": "eq", "term": "none", "value": 1}}):
            answer = client.request(
                "POST",
                f"{TABLE}/plan",
                json=body,
                headers={"Authorization": f"Bearer {CANARY}"},
                timeout=60,
            )
            assert answer.status_code in {400, 503}
            assert not _has(f"{answer.text} {answer.headers}")
    assert "WARNING" in log.text
    assert not _has(log.text)


@pytest.mark.parametrize("what", ["storage", "database", "address"])
def test_errors_without_a_server(
    settings: ServerSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """What a command or a function says of a catalog that fails repeats none of its settings."""
    del settings
    own = SqlCatalog("shop", uri=f"sqlite:///{tmp_path}/c.db", warehouse=str(tmp_path))
    if what == "storage":
        place = "UPDATE iceberg_tables SET metadata_location = 's3://b/db/t/metadata/1.json'"
        with own.engine.begin() as connection:
            connection.exec_driver_sql(place)
    else:
        kind, scheme = ("sql", "bad") if what == "database" else ("rest", "ftp")
        monkeypatch.setenv("PYICEBERG_CATALOG__SHOP__TYPE", kind)
        address = f"{scheme}://me:{QUOTED}@127.0.0.1:9/{QUOTED}?token={QUOTED}"
        monkeypatch.setenv("PYICEBERG_CATALOG__SHOP__URI", address)

    with pytest.raises(LakesieveError) as raised:
        ls.find_files("db.t", "id = 1", catalog="shop")

    assert not _has(f"{raised.value} {raised.value.hint}")
