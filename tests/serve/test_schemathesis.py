"""Requests that schemathesis draws from the description of the server, good and bad ones."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tests.depth import depth
from tests.serve.openapi import DOCUMENT
from tests.serve.tables import catalog_of

from lakesieve.serve.app import build_app
from lakesieve.serve.catalogs import PyIcebergCatalog
from lakesieve.serve.planning import PlanningContext

if TYPE_CHECKING:
    from schemathesis import Case
    from starlette.types import ASGIApp, Receive, Scope, Send

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
# names that the caller gave
QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
# what no answer may hold
RAW = re.compile(r"Traceback|pydantic|sqlalchemy|pyiceberg|site-packages|\w+Error\(", re.IGNORECASE)


class Later:
    """An application that is made after the tests are collected, which needs its description."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as the application does."""
        await self.app(scope, receive, send)


schema = schemathesis.openapi.from_dict(DOCUMENT)
schema.app = served = Later()
schema.location = "/"


@pytest.fixture(scope="module", autouse=True)
def described(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A server of a table, which is as the description says."""
    catalog = catalog_of(tmp_path_factory.mktemp("described"), "db.t", 2)
    served.app = build_app(PyIcebergCatalog(catalog), PlanningContext(tasks=1))


@pytest.mark.filterwarnings("ignore:Encountered invalid snapshot summary")
@schema.parametrize()
@settings(
    max_examples=depth("EXAMPLES", test=10, soak=300),
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
def test_answers(case: Case[Any]) -> None:
    """Each answer is as it is described, none is a failure, and none repeats a library's words."""
    answer = case.call()
    case.validate_response(answer, checks=CHECKS)
    if answer.status_code >= 400:
        message = answer.json()["error"]["message"]
        assert not RAW.search(QUOTED.sub("", message)), message
