"""Every peer of the index core reads all files it must, and the exact ones no other."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from bench.core.layouts import LAYOUTS, Layout
from bench.core.peers import PEERS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROWS = 4_000
PROBES = 20
EXACT = {"Lance BTREE", "sorted Parquet", "Roaring bitmaps"}
DENSE = {"sorted", "upserted 10 %", "lineitem l_partkey", "rows in random files"} | {
    name for name in LAYOUTS if name.startswith(("unique keys", "late arrivals"))
}


@pytest.fixture(scope="module")
def layout_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Layout]:
    scratch = tmp_path_factory.mktemp("layouts")
    return functools.cache(lambda name: LAYOUTS[name](ROWS, scratch))


def files_of(layout: Layout) -> dict[Any, set[int]]:
    truth: dict[Any, set[int]] = {}
    for key, file in zip(layout.keys.to_pylist(), layout.ordinals.tolist(), strict=True):
        truth.setdefault(key, set()).add(file)
    return truth


def sets_of(answer: tuple[np.ndarray, np.ndarray]) -> list[list[int]]:
    offsets, units = answer
    assert offsets.dtype == np.int64
    assert units.dtype == np.int32
    return [units.tolist() for units in np.split(units, offsets[1:-1])] if len(offsets) > 1 else []


def probes_of(layout: Layout) -> list[Any]:
    """Some keys that are there, the least and the greatest, and some that are not there."""
    random = np.random.default_rng(1)
    present = sorted(set(layout.keys.to_pylist()))
    probes = random.choice(len(present), min(PROBES, len(present)), replace=False)
    absent = layout.absent(random, PROBES).to_pylist()
    around = [-5, present[-1] + 5] if isinstance(present[0], int) else []
    return [*(present[i] for i in probes), present[0], present[-1], *absent, *around]


def check(name: str, found: list[list[int]], truth: list[set[int]]) -> None:
    assert all(units == sorted(set(units)) for units in found)
    assert len(found) == len(truth)
    if name in EXACT:
        assert [set(units) for units in found] == truth
    assert all(set(units) >= expected for units, expected in zip(found, truth, strict=True))


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts_are_as_they_say(name: str, layout_of: Callable[[str], Layout]) -> None:
    """Rows lie file after file, and keys drawn as absent are absent, if there are any."""
    layout = layout_of(name)
    absent = layout.absent(np.random.default_rng(2), 100)

    assert layout.name == name
    assert len(layout.keys) == len(layout.ordinals) > 0
    assert layout.ordinals.dtype == np.int32
    assert (np.diff(layout.ordinals) >= 0).all()
    assert 0 <= layout.ordinals[0] <= layout.ordinals[-1] < layout.unit_count
    assert absent.type == layout.keys.type
    assert len(absent) == (0 if name in DENSE else 100)
    assert set(absent.to_pylist()).isdisjoint(layout.keys.to_pylist())


@pytest.mark.parametrize("name", ["sorted", "lineitem l_orderkey", "tenant and time", "urls"])
def test_layouts_are_the_same_each_time(
    name: str, layout_of: Callable[[str], Layout], tmp_path: Path
) -> None:
    """A layout made again has the same rows in the same files."""
    once, again = layout_of(name), LAYOUTS[name](ROWS, tmp_path)

    assert once.keys.equals(again.keys)
    assert np.array_equal(once.ordinals, again.ordinals)


@pytest.mark.parametrize("name", LAYOUTS)
def test_peers_miss_no_file(name: str, layout_of: Callable[[str], Layout], tmp_path: Path) -> None:
    """Points and ranges take every file that holds a requested key."""
    layout = layout_of(name)
    for peer_name, peer in PEERS.items():
        if peer.supports(layout):
            _check_peer(peer_name, layout, tmp_path)


def _check_peer(peer_name: str, layout: Layout, scratch: Path) -> None:
    peer = PEERS[peer_name].build(layout, scratch)
    truth = files_of(layout)
    probes = probes_of(layout)
    keys = pa.array(probes, layout.keys.type)
    lows, highs = zip(*map(sorted, zip(probes, probes[::-1], strict=True)), strict=True)

    assert peer.size > 0
    check(peer_name, sets_of(peer.points(keys)), [truth.get(probe, set()) for probe in probes])
    answer = peer.ranges(pa.array(lows, keys.type), pa.array(highs, keys.type))
    if answer is not None:
        within = [
            set().union(*(files for key, files in truth.items() if low <= key <= high))
            for low, high in zip(lows, highs, strict=True)
        ]
        check(peer_name, sets_of(answer), within)
