"""What ``bench.formats`` runs, and what it holds of the figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from bench.formats.__main__ import jobs_of
from bench.formats.bounds import bounds_of, table_of
from bench.formats.table import linked_copy, size_of

if TYPE_CHECKING:
    from pathlib import Path


def variant(name: str, milliseconds: float, **more: Any) -> dict[str, Any]:
    kinds = ("point", "range", "second")
    seconds = dict.fromkeys(kinds, milliseconds / 1000)
    files = dict.fromkeys(kinds, 1000.0 if name == "off" else 1.0)
    return {"variant": name, "seconds": seconds, "files": files, "then": 1, "now": 2} | more


def figures(table_format: str, *variants: dict[str, Any], files: int = 1000) -> dict[str, Any]:
    expected = {"format": table_format, "spark": "3.5.9", "rows": 10**6, "files": files}
    return expected | {"written": 10.0, "variants": list(variants)}


def missed(figures: dict[str, Any]) -> list[str]:
    return [bound.name.partition(": ")[2] for bound in bounds_of(figures) if not bound.holds]


def test_hudi_runs_on_the_older_line_alone() -> None:
    """Each format runs on each version of Spark that has it, in its own environment."""
    jobs = [(python.parts[-3], name) for python, name in jobs_of(["4.1", "3.5"], ["hudi", "delta"])]

    assert jobs == [(".venv", "delta"), (".venv-3.5", "hudi"), (".venv-3.5", "delta")]


def test_bounds_hold() -> None:
    """Figures within all bounds miss none."""
    ours = variant("lakesieve", 100, bytes=10, built=1.0)
    record = variant("record-level index", 90, bytes=100, built=1.0)

    assert missed(figures("hudi", variant("off", 1000), ours, record)) == []
    orders = variant("Z-order (k, s)", 101), variant("Z-order (k)", 101)
    assert missed(figures("delta", variant("off", 1000), ours, *orders)) == []
    assert missed(figures("parquet", variant("off", 1000), ours)) == []


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"seconds": {"point": 0.101}}, "point query without skipping over with"),
        ({"bytes": 11}, "bytes over record-level index"),
        ({"then": 2}, "files of a point query as of before, over those it took then"),
    ],
    ids=["speed", "bytes", "time travel"],
)
def test_missed_bounds_are_reported(changed: dict[str, Any], name: str) -> None:
    """Each figure beyond its bound is reported, and no other."""
    ours = variant("lakesieve", 100, bytes=10) | changed
    record = variant("record-level index", 90, bytes=100)

    assert missed(figures("hudi", variant("off", 1000), ours, record)) == [name]


def test_each_order_is_a_bound() -> None:
    """A point query is to be faster than on a table in any order, that of the key among them."""
    orders = variant("Z-order (k, s)", 101), variant("Z-order (k)", 99)
    result = figures("delta", variant("off", 1000), variant("lakesieve", 100, bytes=10), *orders)

    assert missed(result) == ["point over Z-order (k)"]


def test_few_files_have_no_bound_of_speed() -> None:
    """The speed-up is held to a bound only where there are many files to skip."""
    result = figures("parquet", variant("off", 100), variant("lakesieve", 100, bytes=1), files=999)

    assert missed(result) == []


def test_table_has_every_variant() -> None:
    """Each variant has a line; what was not measured is left empty."""
    result = figures(
        "parquet", variant("off", 1000), variant("lakesieve", 50, bytes=1234, built=2.0)
    )
    result["variants"][1] |= {"seconds": {"point": 0.05}, "files": {"point": 1.5}}
    lines = table_of(result).splitlines()

    assert len(lines) == 4
    assert lines[3].split() == ["lakesieve", "2.0", "s", "1,234", "50", "ms", "1.5", "1", "2"]


def test_copies_share_data_files_alone(tmp_path: Path) -> None:
    """A copy has the data files by hard links, its own log, and no index."""
    source, target = tmp_path / "a", tmp_path / "b"
    for path in ("x.parquet", "log/1.json", "_lakesieve/k/log"):
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        (source / path).write_text(path)
    linked_copy(source, target)

    assert (source / "x.parquet").samefile(target / "x.parquet")
    assert not (source / "log/1.json").samefile(target / "log/1.json")
    assert not (target / "_lakesieve").exists()
    assert size_of(target) == len("x.parquet") + len("log/1.json")
