"""Servers that other machines reach, and whether somebody checks their callers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from tests.serve.running import running

from lakesieve.errors import InvalidInputError
from lakesieve.serve.exposure import authorises, check_exposure, is_loopback
from lakesieve.serve.run import serve
from lakesieve.serve.settings import ServerSettings

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.requests import Request

NOBODY = "http://127.0.0.1:9"


@pytest.mark.parametrize(
    ("host", "alone"),
    [
        *(("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("localhost", True)),
        *(("0.0.0.0", False), ("::", False), ("10.0.0.1", False), ("shop.example.com", False)),
        ("", False),
    ],
)
def test_addresses(host: str, alone: bool) -> None:
    """Other machines reach every address except the loopback addresses."""
    assert is_loopback(host) is alone


def _behind(config: int, listed: int, prefix: str = "") -> Starlette:
    """A catalog that answers callers without credentials by these statuses."""

    def configure(_: Request) -> Response:
        return JSONResponse({"overrides": {"prefix": prefix}}, status_code=config)

    def names(_: Request) -> Response:
        return JSONResponse({"namespaces": []}, status_code=listed)

    place = f"/v1/{prefix}/namespaces" if prefix else "/v1/namespaces"
    return Starlette(routes=[Route("/v1/config", configure), Route(place, names)])


@pytest.mark.parametrize(
    ("config", "listed", "prefix", "expected"),
    [
        (401, 200, "", True),
        (403, 200, "", True),
        (200, 401, "", True),
        (200, 403, "of/shop", True),
        (200, 200, "", False),
        (200, 200, "shop", False),
        (200, 404, "", False),
        (500, 503, "", None),
    ],
)
def test_catalogs_behind(config: int, listed: int, prefix: str, expected: bool | None) -> None:
    """One authorises that refuses to list namespaces to a caller without credentials."""
    with running(_behind(config, listed, prefix)) as address:
        assert authorises(address) is expected
        settings = ServerSettings(host="0.0.0.0", catalog=address)
        if expected:
            check_exposure(settings, address)
            return
        with pytest.raises(InvalidInputError, match="--no-auth"):
            check_exposure(settings, address)


def test_what_is_allowed(tmp_path: Path) -> None:
    """Tokens, the address of this machine, and the word that all may call."""
    (tmp_path / "tokens").write_text("first")
    for settings in (
        ServerSettings(),
        ServerSettings(host="0.0.0.0", tokens=str(tmp_path / "tokens")),
        ServerSettings(host="0.0.0.0", no_auth=True),
        ServerSettings(catalog=NOBODY),
    ):
        check_exposure(settings, settings.catalog)


@pytest.mark.parametrize(
    ("catalog", "said"), [(None, "nothing checks"), (NOBODY, "does not answer")]
)
def test_what_is_refused(tmp_path: Path, catalog: str | None, said: str) -> None:
    """The server does not start, and the error names the ways out."""
    settings = ServerSettings(host="0.0.0.0", catalog=catalog, warehouse=str(tmp_path))
    with pytest.raises(InvalidInputError, match=said) as raised:
        serve(settings)
    assert "--no-auth" in raised.value.hint
