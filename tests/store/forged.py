"""An index at another endpoint that claims to be one that it is not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from tests.store.samples import DEFINITION, FILES, KEYS, batch

from lakesieve.format import encode_segment, pack, unpack
from lakesieve.sieve import build_blocks, sort_pairs
from lakesieve.store import IndexStore

if TYPE_CHECKING:
    from lakesieve.storage import Storage

_COMMIT = f"log/{0:020d}.json"


def honest_and_forged(honest: Storage, forged: Storage) -> None:
    """Write an index, and at another endpoint one that names other files for its keys.

    The forged index has the same location, identity, write id, catalogue and paths of segments.

    Args:
        honest: Where the index is written.
        forged: The same location at another endpoint.
    """
    state = IndexStore(honest).create(DEFINITION, batch(honest, 0, "create"))
    commit = unpack(honest.get(_COMMIT), _COMMIT)
    segments = []
    for start, entry in zip((0, KEYS // 2), state.segments, strict=True):
        keys = np.arange(start, start + KEYS // 2)
        other = ((keys + 1) % FILES).astype(np.int32)
        blocks = build_blocks(*sort_pairs(pa.array(keys), other))
        data, made = encode_segment(blocks, unit_count=FILES, catalogue=entry.catalogue)
        forged.create(entry.path, data)
        segments.append(replace(made, path=entry.path).to_json())
    for catalogue in state.catalogues:
        forged.create(catalogue.path, honest.get(catalogue.path))
    forged.create(_COMMIT, pack({**commit, "add_segments": segments}))
