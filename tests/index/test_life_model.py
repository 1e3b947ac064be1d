"""After each random change of its table and of itself, an index gives correct answers.

``LAKESIEVE_STEPS=100000`` plays that many over all shapes of indexes, in longer lives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test
from tests.depth import depth
from tests.index.life import Life
from tests.index.life_build import Shape

if TYPE_CHECKING:
    from pathlib import Path

STEPS = depth("STEPS", test=400, soak=20_000)
STEPS_OF_A_LIFE = depth("STEPS_OF_A_LIFE", test=30, soak=100)
# absent keys find nothing: then not even a key of another segment finds a file too many
SHARP = 1e-30
SHAPES = {
    "numbers": Shape(columns=("k",), absent_hits=SHARP, exact=True),
    "numbers with short separators": Shape(columns=("k",)),
    "numbers without gaps": Shape(columns=("k",), absent_hits=1.0),
    "texts": Shape(columns=("s",)),
    "texts with long separators": Shape(columns=("s",), absent_hits=SHARP),
    "pairs": Shape(columns=("k", "s")),
    "pairs in the other order": Shape(columns=("s", "k"), absent_hits=SHARP),
    "numbers in blocks": Shape(columns=("k",), absent_hits=SHARP, exact=True, rows_per_block=2),
    "pairs in blocks": Shape(columns=("s", "k"), rows_per_block=1),
    "budgeted texts in blocks": Shape(columns=("s",), budget="2 files", rows_per_block=3),
    "budgeted numbers": Shape(columns=("k",), budget="4 bits"),
    "budgeted texts": Shape(columns=("s",), budget="2 files"),
}
LIVES = [(name, "memory") for name in SHAPES] + [("numbers", "disk"), ("texts", "disk")]


# Hypothesis shrinks a failure for up to five minutes
@pytest.mark.timeout(600 + STEPS // 50)
@pytest.mark.parametrize(("shape", "storage"), LIVES, ids=[" on ".join(life) for life in LIVES])
def test_every_version_answers_the_same(shape: str, storage: str, tmp_path: Path) -> None:
    """After each step of a random life no query on any version misses a row."""

    class ThisLife(Life):
        indexed = SHAPES[shape]
        root = "memory://life" if storage == "memory" else str(tmp_path)

    lives = -(-STEPS // (STEPS_OF_A_LIFE * len(LIVES)))
    run_state_machine_as_test(
        ThisLife, settings=settings(max_examples=lives, stateful_step_count=STEPS_OF_A_LIFE)
    )
