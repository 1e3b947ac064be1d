"""What manifests list, held in two tiers."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from tests.depth import depth
from tests.engines.tables import rows
from tests.serve.filters import as_json, sent_filter
from tests.serve.tables import ROWS, catalog_of, indexed, planner_of

from lakesieve.serve import planning
from lakesieve.serve.planning import PlanningContext, ScanPlan
from lakesieve.serve.requests import ScanRequest
from lakesieve.tables.iceberg.manifest_cache import ContentCache, ManifestCache

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyiceberg.table import Table

FILES = 12
PREDICATES = depth("PREDICATES", test=20, soak=500)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """A table of a manifest a file, one of which no index has seen."""
    folder = tmp_path_factory.mktemp("listings")
    made = indexed(catalog_of(folder, "db.t", FILES - 1).load_table("db.t"))
    made.append(rows(random.Random("new"), ROWS))
    return made


def _plan(table: Table, context: PlanningContext, wanted: Any, **more: Any) -> ScanPlan:
    body = {"filter": as_json(wanted), **more}
    return planner_of(table, context).plan(ScanRequest.parse(body))


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The manifests that are read."""
    kinds: list[str] = []

    def count(kind: str) -> None:
        if kind != "list":
            kinds.append(kind)

    monkeypatch.setattr(planning, "count_read", count)
    return kinds


def test_plans_in_little_memory(table: Table, read: Sequence[str]) -> None:
    """Without room for anything every manifest is read for each plan, and plans are the same."""
    drawn = random.Random("little")
    none, enough = (PlanningContext(cache=ManifestCache.of(size)) for size in (1, 1 << 28))
    first = table.metadata.snapshots[5].snapshot_id
    for number in range(PREDICATES):
        wanted = sent_filter(drawn)
        at = {"snapshot-id": first} if number % 3 == 0 else {}
        little, much = _plan(table, none, wanted, **at), _plan(table, enough, wanted, **at)
        assert little.tasks == much.tasks, wanted
        assert little.pruning == much.pruning, wanted
    assert len(read) > FILES * PREDICATES // 2


def test_only_manifests_of_files_in_the_plan_are_read_again(table: Table, read: list[str]) -> None:
    """Where statistics have no room, numbers have."""
    drawn = random.Random("tiers")
    cache = ManifestCache(small=ContentCache(1 << 20), large=ContentCache(1))
    kept = PlanningContext(cache=cache)
    filters = [sent_filter(drawn) for _ in range(PREDICATES)]
    for wanted in filters:
        _plan(table, kept, wanted)
    fewer = 0
    for wanted in filters:
        read.clear()
        plan = _plan(table, kept, wanted)
        again = len(read)
        if plan.pruning.indexes:
            assert again <= plan.pruning.files_read, wanted
            fewer += again < FILES
    assert fewer > 0
