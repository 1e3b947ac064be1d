"""Data files and row blocks that are enough for the distinct keys have every key."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.depth import depth
from tests.index.drawn_keys import INTEGERS, drawn_life, opened_with, table_of

from lakesieve.index import DistinctKeys, NeededRows, ReasonCode, plan
from lakesieve.predicate.expression import And
from lakesieve.sieve import encode_keys

if TYPE_CHECKING:
    from collections.abc import Collection

    from tests.kit.key_table import KeyTable

    from lakesieve.index import KeepTree
    from lakesieve.predicate import Expr
    from lakesieve.sieve import Code, KeyType

ANY_ROW: Expr = And(args=())


def _needed(table: KeyTable, complete: Collection[str]) -> tuple[NeededRows, KeepTree]:
    """Return what is enough if a scan returns all rows of some files, and the plan of the scan."""
    opened, live = opened_with(table, complete)
    columns = table.columns(table.version())
    keys = DistinctKeys(paths=(("k",),), live=live)
    needed = keys.needed(columns, ANY_ROW, [opened], table.uuid)
    planned = plan(columns, ANY_ROW, [opened], table.uuid, strict=False, needed=needed)
    return needed, planned.plan


def _kept_rows(
    table: KeyTable, key_type: KeyType, tree: KeepTree, paths: list[str]
) -> dict[str, list[Code | None]]:
    """Return the keys of the rows that a plan reads, by path."""
    judged = tree.of(pa.array(paths, pa.string()))
    kept: dict[str, list[Code | None]] = {}
    for at, path in enumerate(paths):
        codes = encode_keys(key_type, table.files[path]).to_pylist()
        if judged.rows is not None:
            ranges = np.flatnonzero(judged.rows.files == at)
            first, end = judged.rows.rows
            codes = [code for one in ranges for code in codes[first[one] : end[one]]]
            kept[path] = codes
        elif judged.keep[at]:
            kept[path] = codes
    return kept


@settings(max_examples=depth("DISTINCT_KEYS", test=60, soak=1500))
@given(data=st.data())
def test_every_key_is_kept(data: st.DataObject) -> None:
    """Whatever is indexed, deleted, dropped, added and merged, each key and null are read."""
    life = drawn_life(data, budgets=(None, None, None, "1 bits"), always_refreshed=False)
    table, key_type = life.table, life.key_type
    if data.draw(st.booleans()):
        life.compact(data)
    for paths in table.versions:
        complete = [path for path in paths if data.draw(st.integers(0, 3))]
        _, tree = _needed(table, complete)
        kept = _kept_rows(table, key_type, tree, paths)
        assert life.uncovered & set(paths) <= kept.keys()
        whole = {
            code
            for path in complete
            for code in encode_keys(key_type, table.files[path]).to_pylist()
        }
        assert whole <= {code for path in complete for code in kept.get(path, [])}
        # the scan may return any row of other files, so a key without a complete file stays
        for path in set(paths) - set(complete):
            for code in encode_keys(key_type, table.files[path]).to_pylist():
                assert code in whole or code in kept.get(path, [])


def test_files_are_skipped() -> None:
    """A hundred keys in each of fifty files are read from one file, null from another at most."""
    keys = [*range(100)]
    files = [pa.array(keys if at else [None, 7], pa.int64()) for at in range(50)]
    table = table_of(INTEGERS, files)
    table.versions = [list(table.files)]
    table.create()

    needed, tree = _needed(table, table.versions[0])

    assert [reason.code for reason in needed.reasons] == [ReasonCode.DISTINCT_KEYS]
    assert tree.used == ("k",)
    kept = _kept_rows(table, INTEGERS, tree, table.versions[0])
    assert len(kept) == 2
    assert "file:/t/0" in kept


def test_row_blocks_are_skipped() -> None:
    """With row blocks, one block of a file is read."""
    table = table_of(INTEGERS, [pa.array([*range(10)] * 20, pa.int64()) for _ in range(5)])
    table.versions = [list(table.files)]
    table.create(rows_per_block=10)

    _, tree = _needed(table, table.versions[0])

    kept = _kept_rows(table, INTEGERS, tree, table.versions[0])
    assert [len(rows) for rows in kept.values() if rows] == [10]


def test_unique_keys_read_all_files() -> None:
    """If each key is in one file only, nothing is skipped, and the reason says it."""
    table = table_of(INTEGERS, [pa.array(range(at, 900, 9), pa.int64()) for at in range(9)])
    table.versions = [list(table.files)]
    table.create()

    for complete in (table.versions[0], []):
        needed, tree = _needed(table, complete)
        assert [reason.code for reason in needed.reasons] == [ReasonCode.DISTINCT_NOT_USED]
        assert not tree.skips


def test_keys_of_deltas() -> None:
    """One file has the keys of files that were indexed later, also after they are merged."""
    table = table_of(INTEGERS, [pa.array(range(100), pa.int64()) for _ in range(12)])
    paths = list(table.files)
    table.versions = [paths[:4]]
    table.create()
    for count in (8, 12):
        table.versions.append(paths[:count])
        table.refresh()

    for _ in range(2):
        _, tree = _needed(table, paths)
        assert len(_kept_rows(table, INTEGERS, tree, paths)) == 1
        table.index().compact()
