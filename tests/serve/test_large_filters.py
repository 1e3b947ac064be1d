"""Filters that would keep the server busy, or its answers growing, without end."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from tests.serve.running import running
from tests.serve.tables import catalog_of, indexed

from lakesieve.errors import StorageError
from lakesieve.serve.app import build_app
from lakesieve.serve.catalogs import PyIcebergCatalog
from lakesieve.serve.limits import PlanLimits, RequestWork
from lakesieve.serve.pages import first_page, further_page
from lakesieve.serve.planning import PlanningContext, TablePlanner

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyiceberg.catalog.sql import SqlCatalog

FILES = 8
_PLACE = "v1/namespaces/db/tables/t"


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> SqlCatalog:
    """A catalog with an indexed table."""
    made = catalog_of(tmp_path_factory.mktemp("large"), "db.t", FILES)
    indexed(made.load_table("db.t"))
    return made


@pytest.fixture(scope="module")
def address(catalog: SqlCatalog) -> Iterator[str]:
    """Of a server with the limits that it has by default."""
    with running(build_app(PyIcebergCatalog(catalog), PlanningContext())) as address:
        yield address


def _tree(kind: str, leaves: int) -> Any:
    """A balanced tree, as PyIceberg sends the keys of an upsert."""
    if leaves == 1:
        return {"type": "eq", "term": "small", "value": 1}
    left = _tree(kind, leaves // 2)
    return {"type": kind, "left": left, "right": _tree(kind, leaves - leaves // 2)}


def _plan(address: str, wanted: Any) -> httpx.Response:
    return httpx.post(f"{address}/{_PLACE}/plan", json={"filter": wanted}, timeout=10)


@pytest.mark.parametrize(
    ("wanted", "what"),
    [
        (_tree("and", 50_000), "expressions"),
        (_tree("or", 50_000), "expressions"),
        ({"type": "in", "term": "id", "values": list(range(400_000))}, "values"),
        ({"type": "not-in", "term": "text", "values": ["x"] * 400_000}, "values"),
    ],
    ids=["and", "or", "in", "not-in"],
)
def test_too_large(address: str, wanted: Any, what: str) -> None:
    """A filter that takes too long is refused at once, with what to do instead."""
    refused = _plan(address, wanted)
    assert refused.status_code == 400
    message = refused.json()["error"]["message"]
    assert message.startswith("The filter has more than ")
    assert what in message
    assert "scan-planning-mode=client" in message
    assert refused.elapsed.total_seconds() < 5


@pytest.mark.parametrize("levels", [300, 900, 40_000])
@pytest.mark.parametrize("kind", ["not", "and"])
def test_too_deep(address: str, kind: str, levels: int) -> None:
    """A filter that is nested without end is refused at once, wherever that is noticed."""
    side = "child" if kind == "not" else "left"
    leaf = '{"type":"eq","term":"small","value":1}'
    other = "" if kind == "not" else f',"right":{leaf}'
    text = f'{{"type":"{kind}","{side}":' * levels + leaf + f"{other}}}" * levels

    refused = httpx.post(f"{address}/{_PLACE}/plan", content=f'{{"filter":{text}}}', timeout=10)

    assert refused.status_code == 400
    assert "levels" in refused.json()["error"]["message"]


@pytest.mark.parametrize(
    "wanted",
    [_tree("or", 2_000), {"type": "in", "term": "id", "values": list(range(20_000))}],
    ids=["or", "in"],
)
def test_keys_of_an_upsert(address: str, wanted: Any) -> None:
    """Filters as large as upserts send are planned."""
    assert _plan(address, wanted).status_code == 200


def test_too_many_judgements(catalog: SqlCatalog) -> None:
    """Files that a large filter was not compared with stay in the plan, which says so."""
    wanted = {"type": "eq", "term": "flag", "value": True}
    table = PyIcebergCatalog(catalog).load(("db",), "t")
    body = {"filter": {"type": "and", "left": wanted, "right": wanted}}
    few, many = (PlanningContext(limits=PlanLimits(judgements=count)) for count in (0, 1_000_000))
    document, pruning = first_page(TablePlanner("db.t", table, few), body)
    assert len(document["file-scan-tasks"]) == FILES
    assert "look-up-too-large" in [str(reason.code) for reason in pruning.reasons]
    _, pruning = first_page(TablePlanner("db.t", table, many), body)
    assert "look-up-too-large" not in [str(reason.code) for reason in pruning.reasons]


@pytest.mark.parametrize("wanted", [None, _tree("or", 2_000)], ids=["manifests", "filter"])
@pytest.mark.parametrize("is_late", [True, False], ids=["late", "gone"])
def test_a_plan_that_nobody_waits_for(catalog: SqlCatalog, wanted: Any, is_late: bool) -> None:
    """Planning ends when its client has left or its time is over, and reads no further."""
    work = RequestWork(-1.0 if is_late else None)
    if not is_late:
        work.stop()
    table = PyIcebergCatalog(catalog).load(("db",), "t")
    planner = TablePlanner("db.t", table, PlanningContext(), work=work)

    with pytest.raises(StorageError, match="too long" if is_late else "Nobody waits"):
        first_page(planner, {} if wanted is None else {"filter": wanted})


class _Counted(RequestWork):
    """Work that counts how often planning asks if it is wanted."""

    checks = 0

    def check(self) -> None:
        """Count."""
        self.checks += 1


def test_planning_asks_again_and_again(catalog: SqlCatalog) -> None:
    """While manifests are read, and while a large filter is read, planning can be ended."""
    table = PyIcebergCatalog(catalog).load(("db",), "t")

    def checks(body: Any) -> int:
        work = _Counted()
        first_page(TablePlanner("db.t", table, PlanningContext(), work=work), body)
        return work.checks

    plain = checks({})
    assert plain > 1
    # true of every row, so that as many manifests are read
    wanted = {"type": "or", "left": {"type": "true"}, "right": _tree("or", 5_000)}
    assert checks({"filter": wanted}) >= plain + 9


@pytest.mark.parametrize("tasks", [1, 3, 10_000])
def test_answers_that_repeat_a_large_filter(catalog: SqlCatalog, tasks: int) -> None:
    """A plan whose tasks repeat a large filter comes in small answers, which are the whole plan."""
    texts = [f"{'x' * 50}{number}" for number in range(200)]
    wanted = {"type": "not-in", "term": "text", "values": texts}
    size = len(json.dumps(wanted))
    context = PlanningContext(tasks=tasks, limits=PlanLimits(answer=3 * size))
    table = PyIcebergCatalog(catalog).load(("db",), "t")
    answers = [first_page(TablePlanner("db.t", table, context), {"filter": wanted})[0]]
    left = list(answers[0].get("plan-tasks", ()))
    while left:
        task = {"plan-task": left.pop()}
        answers.append(further_page(TablePlanner("db.t", table, context), task)[0])
        left += answers[-1].get("plan-tasks", ())
    paths = [
        task["data-file"]["file-path"] for answer in answers for task in answer["file-scan-tasks"]
    ]
    assert len(paths) == len(set(paths)) == FILES
    for answer in answers:
        # three tasks, and the names of pages, of which each repeats the filter
        assert len(json.dumps(answer)) < 7.5 * size
