"""Estimates from a sample: errors hold as often as promised, and bytes follow the trials."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lakesieve.advisor.described_keys import DescribedKeys
from lakesieve.advisor.estimate import (
    FileShares,
    Sample,
    build_seconds,
    index_bytes,
    refresh_seconds,
    scaled,
)
from lakesieve.advisor.uses import JoinedColumn, TableUse, candidates, columns_queried
from lakesieve.predicate.parse import parse_sql
from lakesieve.tables import Column


def sample(drawn: int, files: int) -> Sample:
    """Return a sample of files of a table."""
    return Sample(
        table_uuid="",
        columns={},
        paths=pa.array([str(n) for n in range(drawn)]),
        files=files,
        timezone="UTC",
        has_statistics=True,
    )


def trial(rows: int, size: int = 0, seconds: float = 0) -> Any:
    """Return a trial with some measurements."""
    return SimpleNamespace(rows=rows, bytes=size, seconds=seconds)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_bands_hold(share: float) -> None:
    """The bands hold nineteen times of twenty, even if few files have most of the matches."""
    drawn = np.random.default_rng(3)
    files, uses = 200, 30
    count = int(files * share)
    inside = 0
    for _ in range(300):
        chances = drawn.beta(1, 4, size=files)
        read = drawn.random((uses, files)) < chances
        chosen = drawn.permutation(files)[:count]
        found = scaled(read[:, chosen].astype(float), sample(count, files))
        inside += found.low <= read.sum() <= found.high
    assert inside >= 270


def test_all_files_are_exact() -> None:
    """If all files are in the sample, nothing is extrapolated."""
    found = scaled(np.ones((3, 50)), sample(50, 50))
    assert (found.value, found.is_exact) == (150, True)


@pytest.mark.parametrize("files_of_key", [1, 2, 5, 40])
def test_files_of_a_key(files_of_key: int) -> None:
    """The files of a key are estimated from the sampled files."""
    drawn = np.random.default_rng(5)
    files, some, keys = 100, 30, 2000
    holds = [drawn.permutation(files)[:files_of_key] for _ in range(keys)]
    pairs = [(key, file) for key, mine in enumerate(holds) for file in mine if file < some]
    which, _ = np.array(pairs).T
    index = SimpleNamespace(
        key_sample=lambda _: pa.array(np.unique(which)), points=lambda _: (which, None)
    )
    shares = FileShares(sample(some, files), [])
    found = shares._files_of_key(SimpleNamespace(index=index))  # type: ignore[arg-type]
    assert found == pytest.approx(files_of_key, rel=0.1)


def test_bytes() -> None:
    """Bytes of an index have a fixed part, and bits for each row that grow with each doubling."""
    assert index_bytes(trial(1000, 500), None, 1000, 1.0).value == 500
    # 8 bits a row at the half, 9 at the sample: 11 at four times as many
    grown = index_bytes(trial(8000, 9000), trial(4000, 4000), 32_000, 4.0)
    assert grown.value == pytest.approx(11 / 8 * 32_000)
    assert grown.low < 9 / 8 * 32_000
    # 2,000 bytes whatever is in it, and a tenth of a byte a row
    fixed = index_bytes(trial(8000, 2800), trial(4000, 2400), 32_000, 4.0)
    assert fixed.value == pytest.approx(2000 + 3200)
    assert fixed.low <= 5200 <= fixed.high


def test_times() -> None:
    """The build time of a whole table is measured, and that of a part is between two estimates."""
    single = (trial(10, seconds=0.5), trial(10, seconds=0.7))
    assert build_seconds(trial(1000, seconds=2), single, 1000, 1.0).value == 2
    found = build_seconds(trial(1010, seconds=2.5), single, 10_010, 10.0)
    assert found.low == pytest.approx(2.5 + 2.0 / 1000 * 9000)
    assert found.high == pytest.approx(2.5 / 1010 * 10_010)
    refreshed = refresh_seconds(single)
    assert (refreshed.low, refreshed.high) == (0.5, 0.7)


def use(condition: str, *joined: str) -> TableUse:
    """Return a query."""
    return TableUse(
        table=0,
        condition=parse_sql(condition),
        joined=tuple(JoinedColumn(column=(name,), rows=None) for name in joined),
    )


def test_searches_are_few() -> None:
    """Of many queries that look for parts of texts, some count for all."""
    column_uses, searches = [use("a = 5")] * 500, [use("NOT b LIKE '%x%' OR a = 5")] * 400
    shares = FileShares(sample(1, 1), column_uses + searches)
    assert len(shares.uses) == 450
    assert shares.weight == 2
    assert len(FileShares(sample(1, 1), searches[:200]).uses) == 200
    assert len(FileShares(sample(1, 1), column_uses).uses) == 500


def test_candidates() -> None:
    """The most used columns come first, then frequent pairs, and nothing that cannot be a key."""
    kinds = {"a": "integer", "b": "string", "c": "integer", "data": "other"}
    columns: dict[tuple[str, ...], Column] = {
        (name,): Column(path=(name,), field_id=number, type="", kind=kind)
        for number, (name, kind) in enumerate(kinds.items())
    }
    uses = [
        *[use("b = 'x' AND a IN (1, 2)")] * 4,
        *[use("b LIKE 'x%'")] * 3,
        *[use("a > 5 AND c = 1")] * 2,
        use("data = 1 AND unknown = 2 AND b IS NOT NULL"),
        use("true", "c"),
    ]
    keys = DescribedKeys()
    tried = candidates(uses, columns, keys)
    assert [tuple(column.path[0] for column in one) for one in tried] == [
        *(("b",), ("a",), ("c",), ("b", "a"))
    ]
    assert columns_queried(uses[-1:], columns, keys) == {("c",)}
    assert columns_queried(uses[-2:-1], columns, keys) == {("data",), ("unknown",)}
