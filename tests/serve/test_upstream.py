"""A server in front of another REST catalog, which has the say in who may read what."""

from __future__ import annotations

import hashlib
import random
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from pyiceberg.catalog.rest import RestCatalog
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount
from tests.serve.filters import sent_filter
from tests.serve.running import running
from tests.serve.tables import catalog_of, indexed
from tests.serve.upstreams import answering

from lakesieve.serve.app import build_app
from lakesieve.serve.catalogs import PyIcebergCatalog
from lakesieve.serve.planning import PlanningContext
from lakesieve.serve.upstream import build_proxy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyiceberg.catalog.sql import SqlCatalog
    from starlette.requests import Request

FILES = 8
TABLE = "v1/namespaces/db/tables/t"


class Guarded:
    """A catalog that knows one token, and whether a client has the newest state of a table."""

    def __init__(self, app: Starlette) -> None:
        self._app = app
        self.seen: list[tuple[str, str, int]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        headers = {k.decode().lower(): v.decode() for k, v in scope.get("headers", [])}
        parts: list[Any] = []

        async def collect(message: Any) -> None:
            parts.append(message)

        if scope["path"] != "/v1/config" and headers.get("authorization") != "Bearer secret":
            error = {"message": "No.", "type": "NotAuthorizedException", "code": 401}
            answer: Response = JSONResponse({"error": error}, 401, {"WWW-Authenticate": "Bearer"})
        else:
            await self._app(scope, receive, collect)
            body = b"".join(part.get("body", b"") for part in parts)
            # what another catalog may say of who plans
            body = body.replace(
                b'"config":{', b'"config":{"scan-planning-mode":"client","x":"y"', 1
            )
            etag = hashlib.sha256(body).hexdigest()
            answer = Response(body, parts[0]["status"], {"ETag": etag, "X-Own": "kept"})
            if headers.get("if-none-match") == etag:
                answer = Response(status_code=304)
        self.seen.append((scope["method"], scope["path"], answer.status_code))
        await answer(scope, receive, send)


@pytest.fixture(scope="module")
def behind(tmp_path_factory: pytest.TempPathFactory) -> SqlCatalog:
    """A catalog with an indexed table."""
    made = catalog_of(tmp_path_factory.mktemp("behind"), "db.t", FILES)
    indexed(made.load_table("db.t"))
    return made


@pytest.fixture(scope="module")
def guarded(behind: SqlCatalog) -> Guarded:
    """The catalog that is behind the server."""
    served = PyIcebergCatalog(behind)
    return Guarded(build_app(served, PlanningContext(), mode="client"))


@pytest.fixture(scope="module")
def address(guarded: Guarded) -> Iterator[str]:
    """Of the server in front."""
    app = Starlette(routes=[Mount("/", app=guarded)])
    with (
        running(app) as upstream,
        running(build_proxy(upstream, PlanningContext(), own_credentials=True)) as address,
    ):
        yield address


def _get(address: str, path: str, **headers: str) -> httpx.Response:
    return httpx.get(f"{address}/{path}", headers={"Authorization": "Bearer secret", **headers})


def test_rows(address: str, behind: SqlCatalog) -> None:
    """A client of the server has the rows of the catalog behind, from fewer files."""
    drawn = random.Random("rows")
    own = behind.load_table("db.t")
    table = RestCatalog("front", uri=address, token="secret").load_table("db.t")
    left_out = 0
    for _ in range(20):
        wanted = sent_filter(drawn)
        plain, served = own.scan(row_filter=wanted), table.scan(row_filter=wanted)
        found, expected = served.to_arrow().to_pylist(), plain.to_arrow().to_pylist()
        assert sorted(map(repr, found)) == sorted(map(repr, expected)), wanted
        left_out += len(list(plain.plan_files())) - len(list(served.plan_files()))
    assert left_out > 0


def test_all_else_passes(address: str) -> None:
    """Answers of the catalog behind come as they are, refusals too; who plans is changed."""
    assert _get(address, "v1/namespaces").json() == {"namespaces": [["db"]]}
    table = _get(address, TABLE)
    assert table.headers["X-Own"] == "kept"
    assert table.json()["config"] == {"x": "y"}
    assert _get(address, TABLE, **{"If-None-Match": table.headers["ETag"]}).status_code == 304
    config = _get(address, "v1/config").json()
    assert config["overrides"]["scan-planning-mode"] == "server"
    assert (
        f"POST /v1/{{prefix}}/{TABLE[3:-1]}{{table}}/plan".replace("db", "{namespace}")
        in (config["endpoints"])
    )
    posted = httpx.post(f"{address}/{TABLE}", json={}, headers={"Authorization": "Bearer secret"})
    assert posted.status_code == 200
    assert _get(address, "v1/namespaces/nothing/tables/t").status_code == 404


def test_who_may_not_load_may_not_plan(address: str, guarded: Guarded) -> None:
    """The catalog behind has the say in each plan, and its refusal is the answer."""
    for path, send in (("plan", {}), ("tasks", {"plan-task": "x"})):
        for headers in ({}, {"Authorization": "Bearer wrong"}):
            answer = httpx.post(f"{address}/{TABLE}/{path}", json=send, headers=headers)
            assert answer.status_code == 401
            assert answer.headers["WWW-Authenticate"] == "Bearer"
            assert answer.json()["error"]["type"] == "NotAuthorizedException"
    allowed = {"Authorization": "Bearer secret"}
    for _ in range(2):
        guarded.seen.clear()
        answer = httpx.post(f"{address}/{TABLE}/plan", json={}, headers=allowed)
        assert answer.status_code == 200
    # that it has not changed is enough
    assert guarded.seen == [("GET", f"/{TABLE}", 304)]
    assert httpx.delete(f"{address}/{TABLE}/plan/5", headers=allowed).status_code == 204
    assert httpx.delete(f"{address}/{TABLE}/plan/5").status_code == 401


def test_names_that_paths_have(tmp_path: Path) -> None:
    """A namespace and a table may be called what the paths of the specification are made of."""
    own = PyIcebergCatalog(catalog_of(tmp_path, "tables.plan", 2))
    with (
        running(build_app(own, PlanningContext(), mode="client")) as upstream,
        running(build_proxy(upstream, PlanningContext(), own_credentials=True)) as address,
    ):
        table = RestCatalog("front", uri=address).load_table("tables.plan")
        assert len(list(table.scan().plan_files())) == 2
        place = f"{address}/v1/namespaces/tables/tables/plan/plan/5"
        assert httpx.get(place).json()["error"]["type"] == "NoSuchPlanIdException"


def test_a_catalog_that_is_gone() -> None:
    """What cannot be reached is said, for plans and for all else."""
    with running(build_proxy("http://127.0.0.1:9", PlanningContext())) as address:
        for answer in (
            httpx.get(f"{address}/v1/config"),
            httpx.get(f"{address}/v1/namespaces"),
            httpx.post(f"{address}/{TABLE}/plan", json={}),
        ):
            assert answer.status_code == 503
            assert answer.json()["error"]["type"] == "ServiceUnavailableException"
        assert httpx.get(f"{address}/healthz").status_code == 200


def test_a_commit_whose_answer_is_lost() -> None:
    """It is not asked to be sent again: the catalog behind may have made it."""

    async def lost(request: Request) -> Response:
        await request.body()
        if request.method == "GET":
            return JSONResponse({}, headers={"X-Name": "\u00e9"})
        raise RuntimeError

    class _Broken:
        """Closes the connection in place of an answer."""

        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] == "http" and scope["method"] == "POST":
                await receive()
                await send({"type": "http.response.start", "status": 200, "headers": []})
                raise RuntimeError
            await answering(lost)(scope, receive, send)

    with (
        running(_Broken()) as upstream,
        running(build_proxy(upstream, PlanningContext())) as address,
    ):
        answer = httpx.post(f"{address}/{TABLE}", json={})
        assert answer.status_code == 500
        assert answer.json()["error"]["type"] == "CommitStateUnknownException"
        # names that are not ASCII pass through in both directions
        found = httpx.get(f"{address}/v1/namespaces", headers=[(b"X-User", b"\xe9")])
        assert (b"x-name", b"\xe9") in found.headers.raw
        assert found.status_code == 200
