"""Which data files hold a deleted key, by an index, against a look at every row."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from tests.index.test_scan_decision import ARROW, FILES, KINDS, Row, stored

from lakesieve.sieve import KeyType
from lakesieve.spark.deletes.guide import holders

ROWS = st.tuples(
    st.none() | st.integers(-3, 6),
    st.none() | st.sampled_from([b"", b"a", b"a\x00", b"\xff"]),
    st.none() | st.integers(0, 2),
)


@given(
    rows=st.lists(st.tuples(ROWS, st.integers(0, FILES - 1)), min_size=1, max_size=60),
    deleted=st.lists(ROWS, min_size=1, max_size=8),
    names=st.sampled_from(["a", "s", "as", "sa", "asc"]),
    wanted=st.lists(st.booleans(), min_size=FILES, max_size=FILES),
)
def test_holders(
    rows: list[tuple[Row, int]], deleted: list[Row], names: str, wanted: list[bool]
) -> None:
    """No wanted file that holds a deleted key is left out, none is named for present keys alone."""
    index = stored(rows, names, range(FILES))
    positions = [list(KINDS).index(name) for name in names]
    batches = [
        pa.record_batch(
            [pa.array([row[at]], ARROW[KINDS[list(KINDS)[at]]]) for at in positions],
            names=list(names),
        )
        for row in deleted
    ]
    types = tuple(KeyType(kind=KINDS[name]) for name in names)
    stage = holders(index.storage, index.snapshot, types, np.array(wanted))
    (result,) = list(stage(batches))
    held = np.unpackbits(np.frombuffer(result.column(0)[0].as_py(), np.uint8), count=FILES) == 1

    keys = {tuple(row[position] for position in positions) for row in deleted}
    found = {(tuple(row[position] for position in positions), unit) for row, unit in rows}
    truth = np.array([any((key, n) in found for key in keys) for n in range(FILES)])
    assert not (truth & wanted & ~held).any()
    if keys <= {key for key, _ in found}:
        assert not (held & ~truth).any()
