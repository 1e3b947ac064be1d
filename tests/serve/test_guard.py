"""Callers without a token, and more callers than there is room for."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import httpx
import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import UnauthorizedError
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from tests.serve.running import running
from tests.serve.tables import catalog_of

from lakesieve.errors import InvalidInputError
from lakesieve.serve.app import build_app
from lakesieve.serve.catalogs import PyIcebergCatalog
from lakesieve.serve.guard import RequestGuard, read_tokens
from lakesieve.serve.planning import PlanningContext

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.requests import Request


def test_tokens(tmp_path: Path) -> None:
    """Only callers with one of the tokens get an answer, but to whether the server runs."""
    (tmp_path / "tokens").write_text("# ours\nfirst\n\n second \n")
    catalog = PyIcebergCatalog(catalog_of(tmp_path, "db.t", 2))
    tokens = read_tokens(str(tmp_path / "tokens"))
    with running(build_app(catalog, PlanningContext(), tokens=tokens)) as address:
        for token in ("first", "second"):
            table = RestCatalog("served", uri=address, token=token).load_table("db.t")
            assert len(list(table.scan().plan_files())) == 2
        with pytest.raises(UnauthorizedError):
            RestCatalog("served", uri=address, token="third")
        plan = f"{address}/v1/namespaces/db/tables/t/plan"
        for headers in (
            {},
            {"Authorization": "first"},
            {"Authorization": "Basic first"},
            {"Authorization": "Bearer # ours"},
            {"Authorization": "Bearer"},
        ):
            refused = httpx.post(plan, json={}, headers=headers)
            assert refused.status_code == 401
            assert refused.json()["error"]["type"] == "NotAuthorizedException"
            assert refused.headers["www-authenticate"] == "Bearer"
        assert httpx.get(f"{address}/metrics").status_code == 401
        assert httpx.get(f"{address}/healthz").status_code == 200


@pytest.mark.parametrize("text", [None, b"", b"# none\n\n", b"\xff\xfe"])
def test_a_file_without_tokens(tmp_path: Path, text: bytes | None) -> None:
    """It is an error: nobody must believe that callers are checked."""
    if text is not None:
        (tmp_path / "tokens").write_bytes(text)
    with pytest.raises(InvalidInputError, match="tokens"):
        read_tokens(str(tmp_path / "tokens"))


def test_too_many_at_once() -> None:
    """Those for whom there is no room shall come again, and find room then."""
    entered, leave = threading.Event(), threading.Event()

    def slow(_: Request) -> Response:
        entered.set()
        assert leave.wait(30)
        return PlainTextResponse("done")

    app = Starlette(routes=[Route("/slow", slow)])
    with running(RequestGuard(app, concurrency=1)) as address:
        answers: list[httpx.Response] = []
        first = threading.Thread(
            target=lambda: answers.append(httpx.get(f"{address}/slow", timeout=60))
        )
        first.start()
        assert entered.wait(30)
        busy = httpx.get(f"{address}/slow")
        assert (busy.status_code, busy.headers["retry-after"]) == (503, "1")
        assert busy.json()["error"]["type"] == "ServiceUnavailableException"
        leave.set()
        first.join(30)
        assert [answer.text for answer in answers] == ["done"]
        assert httpx.get(f"{address}/slow").text == "done"
