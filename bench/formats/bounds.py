"""The table of one run, and what is held of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench.formats.case import KINDS
from bench.measure import Measured

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["bounds_of", "table_of"]

MANY_FILES = 1000
_HEAD = ("", "built", "bytes", *(f"{kind}{suffix}" for kind in KINDS for suffix in ("", " files")))


def bounds_of(figures: Mapping[str, Any]) -> Iterator[Measured]:
    """The bounds of one format on one version of Spark.

    Args:
        figures: What ``bench.formats.work`` printed.
    """
    variants = {variant["variant"]: variant for variant in figures["variants"]}
    name = f"{figures['format']}, Spark {figures['spark']}"
    off, ours = variants["off"], variants["lakesieve"]
    # with few files there is little to skip, and the index has row blocks
    has_many = figures["files"] >= MANY_FILES
    at_least = 10 if has_many else None
    yield _ratio(f"{name}: point query without skipping over with", off, ours, at_least=at_least)
    if figures["format"] == "hudi":
        record = variants["record-level index"]
        yield _ratio(f"{name}: point query over record-level index", ours, record, at_most=1.2)
        yield Measured(
            name=f"{name}: bytes over record-level index",
            value=ours["bytes"] / record["bytes"],
            unit="x",
            at_most=0.1 if has_many else None,
            details={"bytes": f"{ours['bytes']:,} / {record['bytes']:,}"},
        )
        yield Measured(
            name=f"{name}: files of a point query as of before, over those it took then",
            value=ours["then"] / ours["files"]["point"],
            unit="x",
            at_most=1.0,
            details={other: variant["then"] for other, variant in variants.items()},
        )
    if figures["format"] == "delta":
        for order in ("Z-order (k, s)", "Z-order (k)"):
            for kind in (kind for kind in KINDS if kind in variants[order]["seconds"]):
                most = 1.0 if kind == "point" else None
                ratio = f"{name}: {kind} over {order}"
                yield _ratio(ratio, ours, variants[order], kind, at_most=most)


def _ratio(
    name: str,
    above: Mapping[str, Any],
    below: Mapping[str, Any],
    kind: str = "point",
    **bounds: float | None,
) -> Measured:
    seconds = above["seconds"][kind], below["seconds"][kind]
    return Measured(
        name=name,
        value=seconds[0] / seconds[1],
        unit="x",
        details={"ms": " / ".join(f"{1e3 * taken:.0f}" for taken in seconds)},
        **bounds,
    )


def table_of(figures: Mapping[str, Any]) -> str:
    """All ways of one format on one version of Spark, for a person."""
    travels = "then" in figures["variants"][0]
    lines = [(*_HEAD, *(("then files", "now files") if travels else ()))]
    for variant in figures["variants"]:
        # lakesieve has an index a column
        made = [fact for fact in (variant, variant.get("second", {})) if "built" in fact]
        cells = [
            variant["variant"],
            " + ".join(f"{fact['built']:.1f} s" for fact in made),
            " + ".join(f"{fact['bytes']:,}" for fact in made if fact["bytes"]),
        ]
        for kind in KINDS:
            known = kind in variant["seconds"]
            cells.append(f"{1e3 * variant['seconds'][kind]:.0f} ms" if known else "")
            cells.append(f"{variant['files'][kind]:.1f}" if known else "")
        lines.append((*cells, *((str(variant["then"]), str(variant["now"])) if travels else ())))
    widths = [max(len(line[at]) for line in lines) for at in range(len(lines[0]))]
    header = (
        f"{figures['format']}, Spark {figures['spark']}: {figures['rows']:,} rows "
        f"in {figures['files']:,} files, written in {figures['written']:.0f} s"
    )
    rows = (
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in lines
    )
    return "\n".join([header, *(f"  {row}" for row in rows)])
