"""An index lives through random changes of its table and of itself, and is right after each.

``LAKESIEVE_STEPS=100000`` plays that many over all shapes of indexes, in longer lives.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from tests.depth import depth
from tests.index.life import Life
from tests.index.life_build import Shape
from tests.index.life_table import COLUMNS, matches

from lakesieve.index import OpenedIndex, keep_tree, usable_indexes
from lakesieve.predicate import bind, rows_where
from lakesieve.store import verify

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.index.life import Copy

    from lakesieve.predicate.expression import Expr

STEPS = depth("STEPS", test=1000, soak=20_000)
KINDS = {column.field_id: (column.kind, column.scale) for column in COLUMNS.values()}
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
    "budgeted numbers": Shape(columns=("k",), budget="4 bits"),
    "budgeted texts": Shape(columns=("s",), budget="2 files"),
}
LIVES = [(seed, name, "memory") for seed, name in enumerate(SHAPES)] + [
    (seed, "numbers" if seed % 2 else "texts", "disk") for seed in range(100, 103)
]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Answer:
    """Which data files a query reads.

    Args:
        known: The files that the indexes that answered have seen.
        kept: Those of them that must be read.
    """

    known: frozenset[str]
    kept: frozenset[str]

    def reads(self, path: str) -> bool:
        """Whether a live file is read."""
        return path in self.kept or path not in self.known


def ask(index: OpenedIndex, expr: Expr) -> Answer:
    usable, reasons = usable_indexes([index], KINDS, "t")
    assert reasons == []
    plan = keep_tree(rows_where(bind(expr, COLUMNS, strict=False)), usable)
    if not plan.indexes:
        return Answer(known=frozenset(), kept=frozenset())
    covered = index.paths()
    paths = covered.to_pylist()
    kept = (path for path, keep in zip(paths, plan.of(covered)[0].tolist(), strict=True) if keep)
    return Answer(known=frozenset(paths), kept=frozenset(kept))


def check(life: Life) -> None:
    """Every version of every table answers the same, whatever state of its index is read."""
    for copy in life.copies:
        files = copy.table.retained()
        head = copy.store.snapshot()
        early = life.random.randint(head.retained_from, head.number)
        current = [copy.opened(), copy.opened(early)]
        for expr in [copy.table.predicate(), copy.table.predicate()]:
            matching = matches(expr, files.values())
            for index in [*current, *copy.pinned]:
                check_versions(copy, index, expr, matching)
        condition = copy.table.present(life.shape.paths)
        if condition is None:
            continue
        matching = matches(condition, files.values())
        for index in current:
            answer = check_versions(copy, index, condition, matching)
            covered = index.paths().to_pylist()
            assert answer.known == set(covered)
            assert len(answer.known) == len(covered), "a data file is covered twice"
            if life.shape.exact:
                true = matching.keys() & answer.known
                assert answer.kept & files.keys() == true, f"{condition} reads false files"


def check_versions(
    copy: Copy, index: OpenedIndex, expr: Expr, matching: Mapping[str, set[int]]
) -> Answer:
    """All rows of all kept versions are found in the files that are read."""
    answer = ask(index, expr)
    for version in copy.table.versions.values():
        read = [path for path in version.files if answer.reads(path)]
        every = version.rows(matching, version.files)
        assert version.rows(matching, read) == every, (
            f"version {version.number} of {copy.name} misses rows for {expr} "
            f"by commit {index.snapshot.number}"
        )
    # whether a row is deleted is nothing that an index may know
    assert [path for path in matching if not answer.reads(path)] == []
    return answer


@pytest.mark.timeout(300 + STEPS // 50)
@pytest.mark.parametrize(
    ("seed", "shape", "storage"),
    LIVES,
    ids=[f"{shape}, {seed}, {storage}" for seed, shape, storage in LIVES],
)
def test_every_version_answers_the_same(
    seed: int, shape: str, storage: str, tmp_path: Path
) -> None:
    """After each step of a random life no query on any version misses a row."""
    root = f"memory://life-{uuid.uuid4()}" if storage == "memory" else str(tmp_path)
    life = Life(seed, SHAPES[shape], root)
    try:
        check(life)
        for _ in range(-(-STEPS // len(LIVES))):
            life.step()
            check(life)
        for copy in life.copies:
            assert verify(copy.store).is_sound
    except Exception as error:
        text = "\n".join(f"{at:5} {step}" for at, step in enumerate(life.steps))
        raise AssertionError(
            f"{type(error).__name__} in a life of {shape!r} on {storage} from seed {seed} "
            f"after {len(life.steps)} steps:\n{text}\n{error}"
        ) from error
